// The published sync client against a running server: node client.mjs ws|http SCENARIO URL [PAYLOAD]
// Where a scenario needs the server to change it says a word on a line of its own and waits for a line.
import { createInterface } from 'node:readline'
import { makeHttpSync, makeWsSync } from '@livestore/sync-cf/client'
import { makeAdapter } from '@livestore/adapter-node'
import { Events, Schema, State, makeSchema, createStorePromise, queryDb } from '@livestore/livestore'

const [, , transport, scenario, url, payload] = process.argv
// What the client sets up for requests is of the undici that it comes with, which the fetch of an older Node does not take.
if (transport === 'http' && Number(process.versions.node.split('.')[0]) < 22) globalThis.fetch = (await import('undici')).fetch
const backend = { ws: () => makeWsSync({ url }), http: () => makeHttpSync({ url, livePull: { pollInterval: 200 } }) }[transport]
const table = State.SQLite.table({ name: 'links', columns: {
  id: State.SQLite.text({ primaryKey: true }), url: State.SQLite.text({ default: '' }) } })
const snapshots = State.SQLite.table({ name: 'link_snapshots', columns: {
  id: State.SQLite.text({ primaryKey: true }), linkId: State.SQLite.text({ default: '' }),
  title: State.SQLite.text({ nullable: true }) } })
const summaries = State.SQLite.table({ name: 'link_summaries', columns: {
  id: State.SQLite.text({ primaryKey: true }), linkId: State.SQLite.text({ default: '' }),
  summary: State.SQLite.text({ default: '' }) } })
const text = Schema.NullOr(Schema.String)
const events = {
  linkCreated: Events.synced({ name: 'v1.LinkCreated', schema: Schema.Struct({
    id: Schema.String, url: Schema.String, domain: Schema.String, createdAt: Schema.Date }) }),
  linkProcessingStarted: Events.synced({ name: 'v1.LinkProcessingStarted', schema: Schema.Struct({
    linkId: Schema.String, updatedAt: Schema.Date }) }),
  linkMetadataFetched: Events.synced({ name: 'v1.LinkMetadataFetched', schema: Schema.Struct({
    id: Schema.String, linkId: Schema.String, title: text, description: text, image: text, favicon: text,
    fetchedAt: Schema.Date }) }),
  linkSummarized: Events.synced({ name: 'v1.LinkSummarized', schema: Schema.Struct({
    id: Schema.String, linkId: Schema.String, summary: Schema.String, model: Schema.String, summarizedAt: Schema.Date }) }),
  linkProcessingCompleted: Events.synced({ name: 'v1.LinkProcessingCompleted', schema: Schema.Struct({
    linkId: Schema.String, updatedAt: Schema.Date }) }),
  linkProcessingFailed: Events.synced({ name: 'v1.LinkProcessingFailed', schema: Schema.Struct({
    linkId: Schema.String, error: Schema.String, updatedAt: Schema.Date }) }),
  tagSuggested: Events.synced({ name: 'v1.TagSuggested', schema: Schema.Struct({
    id: Schema.String, linkId: Schema.String, tagId: text, suggestedName: Schema.String, model: Schema.String,
    suggestedAt: Schema.Date }) }),
}
const materializers = State.SQLite.materializers(events, {
  'v1.LinkCreated': ({ id, url }) => table.insert({ id, url }).onConflict('id', 'ignore'),
  'v1.LinkProcessingStarted': () => [],
  'v1.LinkMetadataFetched': ({ id, linkId, title }) => snapshots.insert({ id, linkId, title }).onConflict('id', 'ignore'),
  'v1.LinkSummarized': ({ id, linkId, summary }) => summaries.insert({ id, linkId, summary }).onConflict('id', 'ignore'),
  'v1.LinkProcessingCompleted': () => [],
  'v1.LinkProcessingFailed': () => [],
  'v1.TagSuggested': () => [],
})
const tables = { links: table, snapshots, summaries }
const schema = makeSchema({ events, state: State.SQLite.makeState({ tables, materializers }) })
const syncPayload = payload === undefined ? undefined : JSON.parse(payload)
const open = (clientId, more = {}, sync = backend()) => createStorePromise({
  schema, storeId: 'acme', syncPayload, batchUpdates: (run) => run(),
  adapter: makeAdapter({ storage: { type: 'in-memory' }, clientId, sync: {
    backend: sync, initialSyncOptions: { _tag: 'Blocking', timeout: 5000 }, onSyncError: 'ignore', ...more } }) })
const ids = (store) => store.query(queryDb(table.orderBy('id', 'asc'))).map((row) => row.id)
const until = async (what, check) => {
  for (let i = 0; i < 2400; i++) { if (check()) return; await new Promise((resume) => setTimeout(resume, 50)) }
  throw new Error('never: ' + what)
}
const commit = (store, id, at = 'http://localhost:1/' + id) =>
  store.commit(events.linkCreated({ id, url: at, domain: 'localhost', createdAt: new Date(0) }))
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const server = async (word) => { console.log(word); return (await lines.next()).value }

const scenarios = {
  // Live pulls, pushes at the same time that must rebase, a late joiner.
  converge: async () => {
    const [a, b] = [await open('alice'), await open('bob')]
    commit(a, 'a0')
    await until('a live pull brings what another client pushed', () => ids(b).includes('a0'))
    for (let i = 1; i <= 10; i++) { commit(a, 'a' + i); commit(b, 'b' + i) }
    await until('the first client has everything', () => ids(a).length === 21)
    await until('the second client has everything', () => ids(b).length === 21)
    const c = await open('carol')
    await until('a late joiner has everything', () => ids(c).length === 21)
    return ids(c)
  },
  // One client asks over HTTP and another has a socket: each gets what the other wrote.
  beside: async () => {
    const [a, b] = [await open('alice'), await open('bob', {}, makeWsSync({ url }))]
    commit(a, 'by-http')
    await until('the socket brings what came over HTTP', () => ids(b).includes('by-http'))
    commit(b, 'by-socket')
    await until('what came by the socket is asked for', () => ids(a).includes('by-socket'))
    return ids(a)
  },
  // A log of several pages: all of it comes, and pushes go out after it.
  paging: async () => {
    const a = await open('alice')
    await until('every page has come', () => ids(a).length === 250)
    commit(a, 'own')
    const b = await open('bob')
    await until('what was pushed after the pages is there', () => ids(b).length === 251)
    return ids(b)
  },
  // More than fits into one message, in events and in bytes: it goes out in several.
  bulk: async () => {
    const a = await open('alice')
    for (let i = 0; i < 130; i++) commit(a, 'small' + i)
    const long = 'x'.repeat(100_000)
    for (let i = 0; i < 12; i++) commit(a, 'large' + i, 'http://localhost:1/' + i + long)
    const b = await open('bob')
    await until('everything has come', () => ids(b).length === 142)
    return ids(b)
  },
  // The server goes and comes back with the same log; both clients wrote meanwhile, so one of them must rebase.
  reconnect: async () => {
    const [a, b] = [await open('alice'), await open('bob')]
    commit(a, 'before')
    await until('both have the first', () => ids(b).includes('before'))
    await server('stop')
    for (const n of [1, 2, 3]) { commit(a, 'offline-a' + n); commit(b, 'offline-b' + n) }
    await server('start')
    await until('the first client has everything', () => ids(a).length === 7)
    await until('the second client has everything', () => ids(b).length === 7)
    commit(b, 'after')
    await until('live again', () => ids(a).includes('after'))
    return ids(a)
  },
  // The server comes back with another log: a client that knows the old one says so and writes nothing to the new one.
  reset: async () => {
    const a = await open('alice')
    commit(a, 'old')
    const seen = await open('watcher', { onBackendIdMismatch: 'ignore' })
    await until('the old log has it', () => ids(seen).includes('old'))
    await server('wipe')
    // It says so in its log, which whoever runs this reads.
    await server('wait')
    commit(seen, 'too-late')
    const b = await open('bob')
    commit(b, 'new')
    const c = await open('carol')
    await until('the new log works', () => ids(c).includes('new'))
    return ids(c)
  },
  // A client that only said that there is a link sees what the processor found.
  processed: async () => {
    const a = await open('alice')
    commit(a, 'page', await server('site'))
    const of = (rows) => a.query(queryDb(rows)).filter((row) => row.linkId === 'page')
    await until('a title has come', () => of(snapshots).length === 1)
    await until('a summary has come', () => of(summaries).length === 1)
    return [of(snapshots)[0].title, of(summaries)[0].summary]
  },
}
console.log(JSON.stringify({ end: await scenarios[scenario]() }))
process.exit(0)
