// Batches of scans on the page: how far each is, a few of its images, and what failed, to be tried again.
import { $, act, ask, badge, changes, clock, el, fill, headers, resets, views, want } from "./app.js";

/** Batches, images of each, and failed tasks of each that are shown. */
const [BATCHES, IMAGES, FAILURES] = [10, 6, 10];
/** Pages of tasks that are looked through for them. */
const PAGES = 5;

/** Pages of names that are listed to find the latest, of 1,000 each. */
const NAMES = 100;

/** When each batch last changed, by its name: as it was listed, null before that, and as the feed said; 0 for one that is gone. */
let listed = null;
const heard = new Map();
/** How many later ones are before those that are shown. */
let later = 0;
/** Thumbnails by asset, as data that stays in this tab; null while one is fetched or if there is none. */
const thumbs = new Map();

const of = (batch) => `/preprocess/batches/${encodeURIComponent(batch)}`;

/** Tasks of a status, until there are enough or enough was looked at. */
async function tasksOf(batch, query, enough) {
  const found = [];
  let after = null;
  for (let page = 0; page < PAGES && found.length < enough; page += 1) {
    const params = new URLSearchParams({ ...query, limit: String(enough - found.length), ...(after ? { after } : {}) });
    const { tasks, next } = await ask(`${of(batch)}/tasks?${params}`);
    found.push(...tasks);
    if (!next) break;
    after = next;
  }
  return found.slice(0, enough);
}

/** An image cannot bring a token along, so that it is fetched by hand. */
async function fetchThumb(asset) {
  thumbs.set(asset, null);
  if (thumbs.size > 200) thumbs.delete(thumbs.keys().next().value);
  const reply = await fetch(`/preprocess/asset/${encodeURIComponent(asset)}/thumb`, { headers: headers() });
  if (!reply.ok) return;
  const reader = new FileReader();
  reader.addEventListener("load", () => {
    thumbs.set(asset, reader.result);
    want("batches");
  });
  reader.readAsDataURL(await reply.blob());
}

function thumb({ input_file_name: name, ref_data: data }) {
  const asset = data?.url.split("/").pop();
  if (!asset) return null;
  if (!thumbs.has(asset)) fetchThumb(asset).catch(() => thumbs.delete(asset));
  const source = thumbs.get(asset);
  return source ? el("img", { src: source, alt: name, title: name, className: "thumb" }) : null;
}

function phaseLine({ phase, tasks_total: total, tasks_completed: completed, tasks_failed: failed, in_flight: flying }) {
  if (!total) return null;
  const more = `${failed ? `, ${failed.toLocaleString()} failed` : ""}${flying ? `, ${flying.toLocaleString()} under way` : ""}`;
  return el("li", { data: { phase } }, el("span", {}, phase),
    el("progress", { max: total, value: completed + failed, "aria-label": phase }),
    el("span", { className: "hint" }, `${completed.toLocaleString()} of ${total.toLocaleString()}${more}`));
}

function failure(batch, { task_id: task, input_file_name: name, error }) {
  const button = el("button", { type: "button", className: "quiet", "aria-label": `try ${name} again`, data: { focus: task } }, "retry");
  button.addEventListener("click", () => act(button, () => ask(`${of(batch)}/tasks/${encodeURIComponent(task)}/retry`, { method: "POST" })));
  return el("li", { data: { task } }, el("div", { className: "head" }, el("h4", {}, name), button),
    el("p", { className: "error" }, error ?? ""));
}

async function batchRow({ batch_id: batch, status, phases, inputs, updated_at: at, error, delivery, waits }) {
  const images = inputs.converted ? await tasksOf(batch, { phase: "IMAGE_PROCESSING", status: "completed" }, IMAGES) : [];
  const failed = phases.some(({ tasks_failed: count }) => count) ? await tasksOf(batch, { status: "failed" }, FAILURES) : [];
  const time = new Date(at);
  const counts = `${inputs.converted.toLocaleString()} converted, ${inputs.passed_through.toLocaleString()} passed through, ` +
    `${inputs.failed.toLocaleString()} failed of ${inputs.total.toLocaleString()} files`;
  return el("li", { data: { batch } },
    el("div", { className: "head" }, el("h3", {}, batch), badge(status),
      delivery ? el("span", { className: "hint delivery" }, `delivery ${delivery}`) : null,
      el("time", { title: time.toLocaleString() }, clock(time.getTime()))),
    el("p", { className: "hint counts" }, counts),
    error ? el("p", { className: "error" }, error) : null,
    waits ? el("p", { className: "hint waits" }, waits) : null,
    el("ul", { className: "phases" }, ...phases.map(phaseLine)),
    el("div", { className: "thumbs" }, ...images.map(thumb)),
    failed.length ? el("ul", { className: "list failures" }, ...failed.map((task) => failure(batch, task))) : null);
}

/** Names come in their own order, so that all of them are looked at once; then the feed says which change. */
async function listBatches() {
  const found = new Map();
  let after = null;
  for (let page = 0; page < NAMES; page += 1) {
    const params = new URLSearchParams({ kind: "preprocess", limit: "1000", ...(after ? { after } : {}) });
    const { objects, next } = await ask(`/v1/objects?${params}`);
    for (const { name, updated_at: at } of objects) found.set(name, at);
    if (!next) break;
    after = next;
  }
  return found;
}

async function showBatches() {
  if (listed === null) {
    try {
      await ask("/preprocess/health");
    } catch (error) {
      // A server without the service has no such route.
      if (error.status !== 404) throw error;
      $("batches").hidden = true;
      return;
    }
    listed = await listBatches();
  }
  const changed = [...new Map([...listed, ...heard])].filter(([, at]) => at > 0);
  const names = changed.sort((a, b) => b[1] - a[1]).map(([name]) => name);
  later = Math.min(later, Math.max(0, Math.ceil(names.length / BATCHES) - 1) * BATCHES);
  const asked = await Promise.all(names.slice(later, later + BATCHES).map((batch) =>
    ask(`/preprocess/status/${encodeURIComponent(batch)}`).catch((error) => {
      if (error.status !== 404) throw error;
      return null;
    })));
  fill("batch-list", await Promise.all(asked.filter((status) => status !== null).map(batchRow)), "No batch yet: a queue message begins one.");
  const last = Math.min(later + BATCHES, names.length);
  $("batch-count").textContent = names.length > BATCHES ? `${later + 1} to ${last} of ${names.length.toLocaleString()}, the latest first` : "";
  $("batches-later").hidden = later === 0;
  $("batches-earlier").hidden = last === names.length;
}

for (const [id, step] of [["batches-later", -BATCHES], ["batches-earlier", BATCHES]]) {
  $(id).addEventListener("click", () => {
    later = Math.max(0, later + step);
    act($(id), showBatches);
  });
}

views.batches = showBatches;
changes.push(({ kind, name, version, at }) => {
  if (kind !== "preprocess") return;
  heard.set(name, version === null ? 0 : at);
  want("batches");
});
resets.push(() => {
  listed = null;
  heard.clear();
});
want("batches");
