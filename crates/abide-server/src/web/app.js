// The page's script. Text goes in by textContent only, so nothing that a job or object says becomes markup.

const $ = (id) => document.getElementById(id);

function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "data") Object.assign(node.dataset, value);
    else if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const badge = (word) => el("span", { className: "badge", data: { state: word } }, word);
const clock = (ms) => new Date(ms).toLocaleTimeString();
const span = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);
const empty = (text) => el("p", { className: "empty" }, text);

class Refused extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? body?.message ?? `the server answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

function headers() {
  const token = sessionStorage.getItem("token");
  return token ? { authorization: `Bearer ${token}` } : {};
}

async function ask(path, { method = "GET", body } = {}) {
  const init = { method, headers: headers() };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers["content-type"] = "application/json";
  }
  const reply = await fetch(path, init);
  const answer = await reply.json().catch(() => null);
  if (reply.status === 401) $("token-form").hidden = false;
  if (!reply.ok) throw new Refused(reply.status, answer);
  $("problem").hidden = true;
  return answer;
}

function complain(error) {
  $("problem").textContent = error.message;
  $("problem").hidden = false;
}

/** Does something for a person and shows what follows from it. */
async function act(button, path, method = "POST") {
  button.disabled = true;
  try {
    await ask(path, { method });
    await refresh();
  } catch (error) {
    complain(error);
  } finally {
    button.disabled = false;
  }
}

function actButton(label, path, text = label) {
  const button = el("button", { type: "button", className: "quiet", "aria-label": label }, text);
  button.addEventListener("click", () => act(button, path));
  return button;
}

const finishedBefore = new Map();

function rateOf(queue, finished) {
  const now = performance.now();
  const before = finishedBefore.get(queue);
  if (!before || now - before.at > 10_000) finishedBefore.set(queue, { at: now, finished, rate: before?.rate ?? 0 });
  if (!before || now - before.at < 500) return before?.rate ?? 0;
  return Math.max(0, ((finished - before.finished) * 1000) / (now - before.at));
}

async function showQueues() {
  const { queues } = await ask("/v1/queues");
  const cards = queues.map(({ queue, policy, counts }) => {
    const verb = policy.paused ? "resume" : "pause";
    const over = counts.done + counts.skipped + counts.failed + counts.cancelled;
    const button = actButton(`${verb} ${queue}`, `/v1/queues/${encodeURIComponent(queue)}/${verb}`, verb);
    const numbers = Object.entries(counts).map(([state, count]) =>
      el("div", {}, el("dt", {}, state), el("dd", {}, String(count))));
    return el("article", { className: "card", data: { queue } },
      el("div", { className: "head" }, el("h3", {}, queue), policy.paused ? badge("paused") : null, button),
      el("dl", {}, ...numbers),
      el("p", { className: "hint" }, `${rateOf(queue, over).toFixed(1)} finished per second`));
  });
  $("queue-list").replaceChildren(...(cards.length ? cards : [empty("No queue yet: it begins with its first job.")]));
  const chosen = $("job-queue").value;
  const options = queues.map(({ queue }) => el("option", { value: queue, selected: queue === chosen }, queue));
  $("job-queue").replaceChildren(el("option", { value: "" }, "any"), ...options);
}

async function why(job, place) {
  const { causes } = await ask(`/v1/jobs/${job}/why`);
  place.replaceChildren(...causes.map(({ sentence }) => el("li", {}, sentence)));
}

async function showJobs() {
  const query = new URLSearchParams({ limit: "20" });
  if ($("job-state").value) query.set("state", $("job-state").value);
  if ($("job-queue").value) query.set("queue", $("job-queue").value);
  const { jobs } = await ask(`/v1/jobs?${query}`);
  const rows = jobs.map((job) => {
    const over = ["done", "skipped", "failed", "cancelled"].includes(job.state);
    const button = over
      ? (job.state === "done" || job.state === "skipped" ? null : actButton(`retry job ${job.job}`, `/v1/jobs/${job.job}/retry`, "retry"))
      : actButton(`cancel job ${job.job}`, `/v1/jobs/${job.job}/cancel`, "cancel");
    const causes = el("ul", { className: "why" });
    if (job.state !== "done") why(job.job, causes).catch(complain);
    return el("li", { data: { job: job.job } },
      el("div", { className: "head" }, el("h3", {}, `${job.job} · ${job.queue} · ${job.kind}`), badge(job.state),
        el("time", {}, clock(job.updated_at)), button),
      el("code", {}, JSON.stringify(job.payload).slice(0, 300)), causes);
  });
  $("job-list").replaceChildren(...(rows.length ? rows : [empty("No job fits.")]));
}

async function showDead() {
  const { dead } = await ask("/v1/dead?limit=20");
  const rows = dead.map((letter) => el("li", {},
    el("div", { className: "head" }, el("h3", {}, `${letter.kind}/${letter.name} · ${letter.event}`),
      el("time", {}, clock(letter.died_at)),
      actButton(`replay dead letter ${letter.id}`, `/v1/dead/${letter.id}/replay`, "replay")),
    el("p", { className: "error" }, letter.error)));
  $("dead-list").replaceChildren(...(rows.length ? rows : [empty("None: no event of an object has failed for good.")]));
}

const recent = new Map();

async function showObjects() {
  if (!recent.size) {
    const { objects } = await ask("/v1/objects?limit=20");
    for (const { kind, name, version, updated_at: at } of objects) recent.set(`${kind}/${name}`, { version, at });
  }
  const rows = [...recent].sort((a, b) => b[1].at - a[1].at).slice(0, 20).map(([key, { version, at }]) =>
    el("li", {}, el("div", { className: "head" }, el("h3", {}, key),
      el("span", { className: "hint" }, version === null ? "deleted" : `version ${version}`), el("time", {}, clock(at)))));
  $("object-list").replaceChildren(...(rows.length ? rows : [empty("No object yet.")]));
}

const coordinator = () => `/coordinator/${encodeURIComponent($("name").value.trim())}`;

async function showItems() {
  if (!$("name").value.trim()) return;
  let queue;
  try {
    ({ queue } = await ask(`${coordinator()}/queue`));
  } catch (error) {
    if (error.status !== 404) throw error;
    queue = [];
  }
  const rows = queue.slice().reverse().map((item) => {
    const stamps = item.timestamps ?? [];
    const first = stamps[0]?.time ?? item.createdAt;
    const tags = stamps.map(({ tag, time }) => el("div", {}, el("dt", {}, tag), el("dd", {}, `+${time - first} ms`)));
    return el("li", { data: { item: item.id } },
      el("div", { className: "head" }, el("h3", {}, item.id.slice(0, 8)), badge(item.status),
        el("time", {}, clock(item.createdAt)),
        item.timeTaken === undefined || item.timeTaken === null ? null : el("span", { className: "hint" }, `total ${span(item.timeTaken)}`)),
      el("p", { className: "said" }, item.payload?.message ?? ""),
      item.error ? el("p", { className: "error" }, item.error) : null,
      item.result?.message ? el("p", { className: "hint" }, item.result.message) : null,
      el("dl", {}, ...tags));
  });
  $("item-count").textContent = `${queue.length} items, newest first`;
  $("items").replaceChildren(...(rows.length ? rows : [empty("Nothing submitted yet.")]));
}

function addMessage(focus) {
  const n = $("messages").children.length;
  const input = el("input", { id: `message-${n}`, className: "text", "aria-describedby": `message-${n}-error` });
  const remove = el("button", { type: "button", className: "quiet", "aria-label": `remove message ${n + 1}` }, "−");
  const field = el("div", { className: "field" }, el("label", { htmlFor: input.id }, `Message ${n + 1}`),
    el("div", { className: "message" }, input, n ? remove : null), el("p", { className: "error", id: `message-${n}-error` }));
  remove.addEventListener("click", () => field.remove());
  input.addEventListener("input", () => mark(input, ""));
  $("messages").append(field);
  if (focus) input.focus();
}

function mark(input, text) {
  input.setAttribute("aria-invalid", String(Boolean(text)));
  const place = $(input.getAttribute("aria-describedby"));
  if (place) place.textContent = text;
}

/** Shows each issue of a refusal at its field; gives those that have none. */
function markIssues(issues, inputs) {
  return issues.filter(({ path = [], field, message }) => {
    const parts = Array.isArray(path) && path.length ? path : String(field ?? path).split(/[.[\]]+/).filter(Boolean);
    const [what, index] = parts;
    const input = what === "message" ? inputs[0] : what === "messages" ? inputs[Number(index ?? 0)] : ["delay", "mode"].includes(what) ? $(what) : null;
    if (input) mark(input, message);
    return !input;
  });
}

async function submit(event) {
  event.preventDefault();
  const inputs = [...document.querySelectorAll("#messages input")];
  const fields = [...inputs, $("delay"), $("mode")];
  fields.forEach((input) => mark(input, ""));
  const texts = inputs.map((input) => input.value);
  const delay = $("delay").value === "" ? null : Number($("delay").value);
  const mode = $("mode").value;
  $("send").disabled = true;
  $("submitted").textContent = "";
  try {
    const answer = texts.length === 1
      ? await ask(`${coordinator()}/queue`, { method: "POST", body: { message: texts[0], delay, mode } })
      : await ask(`${coordinator()}/queue/batch`, { method: "POST", body: { messages: texts, delay, mode } });
    $("submitted").textContent = answer.count === undefined ? `submitted ${answer.workItem.id.slice(0, 8)}` : `submitted ${answer.count} items`;
    inputs.forEach((input) => { input.value = ""; });
    await showItems();
  } catch (error) {
    const issues = error.body?.issues ?? error.body?.error?.issues ?? [];
    const left = markIssues(issues, inputs);
    document.querySelector('[aria-invalid="true"]')?.focus();
    if (!issues.length || left.length) complain(left.length ? new Error(left.map(({ message }) => message).join("; ")) : error);
  } finally {
    $("send").disabled = false;
  }
}

const views = { queues: showQueues, jobs: showJobs, dead: showDead, objects: showObjects, items: showItems };
const wanted = new Set();
let timer = null;

/** Shows views anew, soon and all together. */
function want(...names) {
  names.forEach((name) => wanted.add(name));
  timer ??= setTimeout(() => {
    timer = null;
    const now = [...wanted];
    wanted.clear();
    Promise.all(now.map((name) => views[name]())).catch(complain);
  }, 150);
}

async function refresh() {
  await Promise.all(Object.values(views).map((view) => view()));
}

function take(word, data) {
  if (word === "job") want("queues", "jobs");
  else if (word === "queue") want("queues", "jobs");
  else if (word === "dead" || word === "dead_gone") want("dead");
  else if (word === "object") {
    recent.delete(`${data.kind}/${data.name}`);
    recent.set(`${data.kind}/${data.name}`, { version: data.version, at: data.at });
    if (recent.size > 200) recent.delete(recent.keys().next().value);
    want("objects");
    if (data.kind === "coordinator" && data.name === $("name").value.trim()) want("items");
  } else if (word === "reset" || word === "begin") {
    recent.clear();
    want(...Object.keys(views));
  }
}

/** Follows the feed. EventSource cannot send a token, so the stream is read by hand. */
async function follow(last) {
  const reply = await fetch("/v1/events", { headers: last ? { ...headers(), "last-event-id": last } : headers() });
  if (reply.status === 401) $("token-form").hidden = false;
  if (!reply.ok) throw new Refused(reply.status, await reply.json().catch(() => null));
  state("live");
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return last;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const said = Object.fromEntries(part.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
      if (said.event) take(said.event, JSON.parse(said.data));
      last = said.id ?? last;
    }
  }
}

function state(word) {
  $("live").dataset.state = word;
  $("live").textContent = word;
}

async function stayLive() {
  let last = null;
  for (;;) {
    try {
      last = await follow(last);
    } catch (error) {
      if (error instanceof Refused) complain(error);
    }
    state("reconnecting");
    await new Promise((resume) => setTimeout(resume, 2000));
  }
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value);
  location.reload();
});
$("submit").addEventListener("submit", submit);
$("add-message").addEventListener("click", () => addMessage(true));
$("delay").addEventListener("input", () => mark($("delay"), ""));
$("name").addEventListener("change", () => want("items"));
$("job-filter").addEventListener("change", () => want("jobs"));
addMessage(false);
stayLive();
