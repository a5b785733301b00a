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
/** When something was, with the day at a closer look. */
const moment = (ms) => el("time", { title: new Date(ms).toLocaleString() }, clock(ms));
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

async function ask(path, { method = "GET", body, more = {}, unauthorized = wantToken } = {}) {
  const init = { method, headers: { ...headers(), ...more } };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers["content-type"] = "application/json";
  }
  const reply = await fetch(path, init);
  const answer = await reply.json().catch(() => null);
  if (reply.status === 401) unauthorized();
  if (!reply.ok) throw new Refused(reply.status, answer);
  return answer;
}

function complain(error) {
  if (error.status === 401) return;
  $("problem").textContent = error.message;
  $("problem").hidden = false;
}

function wantToken() {
  if (!$("token-form").hidden) return;
  $("token-refused").textContent = sessionStorage.getItem("token") ? "The server does not know this token, or it was revoked." : "";
  $("token-form").hidden = false;
  $("token").focus();
}

/** Puts rows in the place of those that a list shows; the focus stays on what it was on. */
function fill(id, rows, none) {
  const list = $(id);
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  list.replaceChildren(...(rows.length ? rows : [empty(none)]));
  if (focused) list.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
}

/** Does something for a person and shows what follows from it. */
async function act(button, work) {
  button.disabled = true;
  $("problem").hidden = true;
  try {
    await work();
    await refresh();
  } catch (error) {
    complain(error);
  } finally {
    button.disabled = false;
  }
}

/** A button that posts to a path. `focus` names its place, where another button may be afterwards. */
function actButton(text, label, focus, path) {
  const button = el("button", { type: "button", className: "quiet", "aria-label": label, data: { focus } }, text);
  button.addEventListener("click", () => act(button, () => ask(path, { method: "POST" })));
  return button;
}

/** Posts to a path until nothing is left to do: each answer says where the next begins. */
async function postAll(path) {
  let after = null;
  do {
    const from = after === null ? "" : `${path.includes("?") ? "&" : "?"}after=${after}`;
    ({ next: after } = await ask(path + from, { method: "POST" }));
  } while (after !== null);
}

function rateLine(finished, rate) {
  if (!finished) return "none finished in the last minute";
  const perSecond = finished < 10 ? "" : `, ${rate.toFixed(1)} per second`;
  return `${finished.toLocaleString()} finished in the last minute${perSecond}`;
}

function queueCard({ queue, policy, counts, finished_last_minute: finished, rate }) {
  const verb = policy.paused ? "resume" : "pause";
  const button = actButton(verb, `${verb} the queue ${queue}`, queue, `/v1/queues/${encodeURIComponent(queue)}/${verb}`);
  const numbers = Object.entries(counts).map(([state, count]) =>
    el("div", { className: count ? "" : "zero" }, el("dt", {}, state), el("dd", {}, count.toLocaleString())));
  return el("article", { className: "card", data: { queue } },
    el("div", { className: "head" }, el("h3", {}, queue), policy.paused ? badge("paused") : null, button),
    el("dl", {}, ...numbers),
    el("p", { className: "hint rate" }, rateLine(finished, rate)));
}

async function showQueues() {
  const { queues } = await ask("/v1/queues");
  fill("queue-list", queues.map(queueCard), "No queue yet: it begins with its first job.");
  const chosen = $("job-queue").value;
  const names = queues.map(({ queue }) => queue);
  if ([...$("job-queue").options].slice(1).map(({ value }) => value).join() === names.join()) return;
  const options = names.map((queue) => el("option", { value: queue, selected: queue === chosen }, queue));
  $("job-queue").replaceChildren(el("option", { value: "" }, "any"), ...options);
}

async function whyOf({ job, state }) {
  if (state === "done") return null;
  try {
    const { causes } = await ask(`/v1/jobs/${job}/why`);
    return el("ul", { className: "why" }, ...causes.map(({ sentence }) => el("li", {}, sentence)));
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

async function jobRow(job) {
  const { job: id, queue, kind, state, payload } = job;
  const over = ["done", "skipped", "failed", "cancelled"].includes(state);
  const verb = over ? "retry" : "cancel";
  const button = state === "done" ? null : actButton(verb, `${verb} job ${id}`, `job ${id}`, `/v1/jobs/${id}/${verb}`);
  return el("li", { data: { job: id } },
    el("div", { className: "head" }, el("h3", {}, `${id} · ${queue} · ${kind}`), badge(state),
      moment(job.updated_at), button),
    payload === null ? null : el("code", {}, JSON.stringify(payload).slice(0, 300)), await whyOf(job));
}

async function jobRows(query) {
  const { jobs } = await ask(`/v1/jobs?${new URLSearchParams(query)}`);
  return Promise.all(jobs.map(jobRow));
}

async function showJobs() {
  const query = { limit: "20" };
  if ($("job-state").value) query.state = $("job-state").value;
  if ($("job-queue").value) query.queue = $("job-queue").value;
  fill("job-list", await jobRows(query), "No job fits.");
}

async function showDead() {
  const [{ dead }, jobs] = await Promise.all([ask("/v1/dead?limit=20"), jobRows({ state: "failed", limit: "20" })]);
  const letters = dead.map(({ id, kind, name, event, error, died_at: at }) => el("li", { data: { dead: id } },
    el("div", { className: "head" }, el("h3", {}, `${kind}/${name} · ${event}`),
      moment(at),
      actButton("replay", `replay dead letter ${id}`, `dead ${id}`, `/v1/dead/${id}/replay`)),
    el("p", { className: "error" }, error)));
  const rows = [...letters, ...jobs];
  $("replay-all").hidden = !rows.length;
  fill("dead-list", rows, "None: nothing has failed for good.");
}

const recent = new Map();

async function showObjects() {
  if (!recent.size) {
    const { objects } = await ask("/v1/objects?recent=true&limit=200");
    for (const { kind, name, version, updated_at: at } of objects.reverse()) recent.set(`${kind}/${name}`, { version, at });
  }
  const rows = [...recent].sort((a, b) => b[1].at - a[1].at).slice(0, 20).map(([key, { version, at }]) =>
    el("li", { data: { object: key } }, el("div", { className: "head" }, el("h3", {}, key),
      el("span", { className: "hint" }, version === null ? "deleted" : `version ${version}`),
      moment(at))));
  fill("object-list", rows, "No object yet.");
}

const coordinator = () => `/coordinator/${encodeURIComponent($("name").value.trim())}`;

/** What something says for machines, within reason. */
const json = (value) => el("code", {}, JSON.stringify(value).slice(0, 1000));

function itemRow(item) {
  const [first] = item.timestamps;
  const stamps = item.timestamps.map(({ tag, time }) => el("li", {}, `${tag} `, el("b", {}, `+${Math.round(time - first.time)} ms`)));
  return el("li", { data: { item: item.id } },
    el("div", { className: "head" }, el("h3", {}, item.id.slice(0, 8)), badge(item.status),
      el("span", { className: "hint" }, item.mode === "direct" ? "direct" : "by queue"),
      el("span", { className: "hint times" }, "created ", moment(item.createdAt), ", updated ", moment(item.updatedAt)),
      item.timeTaken === undefined ? null : el("span", { className: "hint total" }, `total ${span(item.timeTaken)}`)),
    el("p", { className: "said" }, item.payload.message),
    el("p", { className: "hint payload" }, "payload ", json(item.payload)),
    item.error ? el("p", { className: "error" }, item.error) : null,
    item.deadLetter ? el("p", { className: "hint" }, `dead letter: job ${item.deadLetter.job}, ${item.deadLetter.reason}`) : null,
    item.result === undefined ? null : el("p", { className: "hint result" }, "result ", json(item.result)),
    el("ul", { className: "stamps" }, ...stamps));
}

async function showItems() {
  if (!$("name").value.trim()) return;
  const [{ queue }, { total }] = await Promise.all([ask(`${coordinator()}/queue?newest=50`), ask(`${coordinator()}/stats`)]);
  const shown = total > queue.length ? `, the newest ${queue.length} shown` : "";
  $("item-count").textContent = total === 1 ? "1 item" : `${total.toLocaleString()} items, newest first${shown}`;
  fill("items", queue.reverse().map(itemRow), "Nothing submitted yet.");
}

const messageInputs = () => [...document.querySelectorAll("#messages input")];

/** Gives the messages their numbers; the only one cannot be removed. */
function numberMessages() {
  const fields = [...$("messages").children];
  fields.forEach((field, index) => {
    const [input, label, error] = [field.querySelector("input"), field.querySelector("label"), field.querySelector(".error")];
    input.id = `message-${index}`;
    label.htmlFor = input.id;
    label.textContent = fields.length > 1 ? `Message ${index + 1}` : "Message";
    error.id = `message-${index}-error`;
    input.setAttribute("aria-describedby", error.id);
    const remove = field.querySelector("button");
    remove.hidden = fields.length === 1;
    remove.setAttribute("aria-label", `remove message ${index + 1}`);
  });
}

function addMessage() {
  const input = el("input", { autocomplete: "off" });
  const remove = el("button", { type: "button", className: "quiet" }, "−");
  const field = el("div", { className: "field" }, el("label"), el("div", { className: "message" }, input, remove), el("p", { className: "error" }));
  remove.addEventListener("click", () => {
    field.remove();
    numberMessages();
    messageInputs().at(-1).focus();
  });
  input.addEventListener("input", () => mark(input, ""));
  $("messages").append(field);
  numberMessages();
  return input;
}

function mark(input, text) {
  input.setAttribute("aria-invalid", String(Boolean(text)));
  const place = $(input.getAttribute("aria-describedby"));
  if (place) place.textContent = text;
}

/** Shows each issue of a refusal at its field; gives those that have none. */
function markIssues(issues, inputs) {
  return issues.filter(({ path: [what, index = 0], message }) => {
    const input = { message: inputs[0], messages: inputs[index], delay: $("delay"), mode: $("mode") }[what];
    if (input) mark(input, message);
    return !input;
  });
}

async function submit(event) {
  event.preventDefault();
  const inputs = messageInputs();
  [...inputs, $("delay"), $("mode")].forEach((input) => mark(input, ""));
  const texts = inputs.map((input) => input.value);
  const rest = { delay: $("delay").value === "" ? null : Number($("delay").value), mode: $("mode").value };
  $("problem").hidden = true;
  $("submitted").textContent = "";
  $("send").disabled = true;
  try {
    const { workItem, count } = texts.length === 1
      ? await ask(`${coordinator()}/queue`, { method: "POST", body: { message: texts[0], ...rest } })
      : await ask(`${coordinator()}/queue/batch`, { method: "POST", body: { messages: texts, ...rest } });
    $("submitted").textContent = workItem ? `Submitted ${workItem.id.slice(0, 8)}.` : `Submitted ${count} items.`;
    inputs.forEach((input) => { input.value = ""; });
    inputs[0].focus();
    await showItems();
  } catch (error) {
    const issues = error.body?.issues ?? [];
    const left = markIssues(issues, inputs);
    document.querySelector('[aria-invalid="true"]')?.focus();
    if (left.length) complain(new Error(left.map(({ message }) => message).join("; ")));
    else if (!issues.length) complain(error);
  } finally {
    $("send").disabled = false;
  }
}

const views = { queues: showQueues, jobs: showJobs, dead: showDead, objects: showObjects, items: showItems };
/** Who else hears which objects change. */
const changes = [];
/** And who hears that some may have changed unheard. */
const resets = [];
const wanted = new Set();
let timer = null;

let shownAt = -Infinity;

/** Shows views anew, soon and all together: at most about once a second, and only to somebody who looks. */
function want(...names) {
  names.forEach((name) => wanted.add(name));
  if (document.hidden) return;
  timer ??= setTimeout(async () => {
    const now = [...wanted];
    wanted.clear();
    try {
      await Promise.all(now.map((name) => views[name]()));
    } catch (error) {
      complain(error);
    }
    shownAt = performance.now();
    timer = null;
    if (wanted.size) want();
  }, Math.max(50, shownAt + 800 - performance.now()));
}

async function refresh() {
  await Promise.all(Object.values(views).map((view) => view()));
}

function take(word, data) {
  if (word === "job") want("queues", "jobs", ...(data.to === "failed" || data.from === "failed" ? ["dead"] : []));
  else if (word === "queue") want("queues", "jobs");
  else if (word === "dead" || word === "dead_gone") want("dead");
  else if (word === "object") {
    recent.delete(`${data.kind}/${data.name}`);
    recent.set(`${data.kind}/${data.name}`, { version: data.version, at: data.at });
    if (recent.size > 200) recent.delete(recent.keys().next().value);
    want("objects");
    changes.forEach((hear) => hear(data));
    if (data.kind === "coordinator" && data.name === $("name").value.trim()) want("items");
  } else if (word === "reset" || word === "begin") {
    recent.clear();
    resets.forEach((hear) => hear());
    want(...Object.keys(views));
  }
}

/** What a stream of events says, one after the other. EventSource cannot send a token, so the stream is read by hand. */
async function* events(reply) {
  if (!reply.ok) throw new Refused(reply.status, await reply.json().catch(() => null));
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) yield Object.fromEntries(part.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
  }
}

/** Follows the feed. */
async function follow(last) {
  const reply = await fetch("/v1/events", { headers: last ? { ...headers(), "last-event-id": last } : headers() });
  if (reply.status === 401) wantToken();
  if (reply.ok) state("live");
  for await (const said of events(reply)) {
    if (said.event) take(said.event, JSON.parse(said.data));
    last = said.id ?? last;
  }
  return last;
}

function state(word) {
  $("live").dataset.state = word;
  $("live").textContent = word;
}

async function stayLive() {
  let last = null;
  while ($("token-form").hidden) {
    try {
      last = await follow(last);
    } catch (error) {
      if (error instanceof Refused) complain(error);
    }
    state("reconnecting");
    await new Promise((resume) => setTimeout(resume, 2000));
  }
  state("no token");
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value.trim());
  location.reload();
});
$("submit").addEventListener("submit", submit);
$("add-message").addEventListener("click", () => addMessage().focus());
$("replay-all").addEventListener("click", (event) => act(event.currentTarget, async () => {
  await postAll("/v1/dead/replay");
  await postAll("/v1/jobs/retry?state=failed");
}));
$("delay").addEventListener("input", () => mark($("delay"), ""));
$("name").addEventListener("change", () => want("items"));
$("job-filter").addEventListener("change", () => want("jobs"));
document.addEventListener("visibilitychange", () => want());
// Rates fall without any event.
setInterval(() => want("queues"), 10_000);
addMessage();
stayLive();

export { $, act, ask, badge, changes, clock, complain, el, events, fill, headers, resets, views, want };
