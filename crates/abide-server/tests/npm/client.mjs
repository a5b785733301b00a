// The published sync client against a running server: node client.mjs URL TRANSPORT PAYLOAD
import { makeWsSync, makeHttpSync } from '@livestore/sync-cf/client'
import { makeAdapter } from '@livestore/adapter-node'
import { Events, Schema, State, makeSchema, createStorePromise, queryDb } from '@livestore/livestore'

const [, , url, transport, payload] = process.argv
const N = 10
const table = State.SQLite.table({ name: 'links', columns: {
  id: State.SQLite.text({ primaryKey: true }), url: State.SQLite.text({ default: '' }) } })
const events = { linkCreated: Events.synced({ name: 'v1.LinkCreated', schema: Schema.Struct({
  id: Schema.String, url: Schema.String, domain: Schema.String, createdAt: Schema.Date }) }) }
const materializers = State.SQLite.materializers(events, {
  'v1.LinkCreated': ({ id, url }) => table.insert({ id, url }).onConflict('id', 'ignore') })
const schema = makeSchema({ events, state: State.SQLite.makeState({ tables: { links: table }, materializers }) })
const open = (storeId, clientId, syncPayload) => createStorePromise({
  schema, storeId, syncPayload, batchUpdates: (run) => run(),
  adapter: makeAdapter({ storage: { type: 'in-memory' }, clientId, sync: {
    backend: transport === 'ws' ? makeWsSync({ url }) : makeHttpSync({ url, livePull: { pollInterval: 200 } }),
    initialSyncOptions: { _tag: 'Blocking', timeout: 5000 }, onSyncError: 'ignore' } }) })
const ids = (store) => store.query(queryDb(table.orderBy('id', 'asc'))).map((r) => r.id)
const until = async (what, check) => {
  for (let i = 0; i < 400; i++) { if (check()) return; await new Promise((r) => setTimeout(r, 50)) }
  throw new Error('never: ' + what)
}
const commit = (store, id) => store.commit(events.linkCreated({ id, url: 'http://localhost:1/' + id, domain: 'localhost', createdAt: new Date(0) }))

const syncPayload = payload === undefined ? undefined : JSON.parse(payload)
const a = await open('acme', 'alice', syncPayload)
const b = await open('acme', 'bob', syncPayload)
commit(a, 'a0')
await until('a live pull brings what another client pushed', () => ids(b).includes('a0'))
for (let i = 1; i <= N; i++) { commit(a, 'a' + i); commit(b, 'b' + i) }
await until('the first client has everything', () => ids(a).length === 2 * N + 1)
await until('the second client has everything', () => ids(b).length === 2 * N + 1)
const c = await open('acme', 'carol', syncPayload)
await until('a late joiner has everything', () => ids(c).length === 2 * N + 1)
console.log(JSON.stringify({ links: ids(c) }))
process.exit(0)
