// Batches of scans on the page: how far each is, a few of its images, and what failed, to be tried again.
import { $, act, ask, badge, changes, clock, el, fill, headers, views, want } from "./app.js";

/** Batches, images of each, and failed tasks of each that are shown. */
const [BATCHES, IMAGES, FAILURES] = [10, 6, 10];
/** Pages of tasks that are looked through for them. */
const PAGES = 5;

/** Names of batches that changed since the page was opened. */
const heard = new Set();
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

async function showBatches() {
  let batches;
  try {
    ({ batches } = await ask("/preprocess/batches?limit=50"));
  } catch (error) {
    // A server without the service has no such route.
    if (error.status !== 404) throw error;
    $("batches").hidden = true;
    return;
  }
  const known = new Set(batches.map(({ batch_id: batch }) => batch));
  const others = [...heard].filter((batch) => !known.has(batch));
  const asked = await Promise.all(others.map((batch) => ask(`/preprocess/status/${encodeURIComponent(batch)}`).catch(() => null)));
  const all = [...batches, ...asked.filter((status) => status !== null)];
  all.sort((a, b) => b.updated_at.localeCompare(a.updated_at));
  fill("batch-list", await Promise.all(all.slice(0, BATCHES).map(batchRow)), "No batch yet: a queue message begins one.");
}

views.batches = showBatches;
changes.push(({ kind, name }) => {
  if (kind !== "preprocess") return;
  heard.delete(name);
  heard.add(name);
  if (heard.size > BATCHES) heard.delete(heard.values().next().value);
  want("batches");
});
want("batches");
