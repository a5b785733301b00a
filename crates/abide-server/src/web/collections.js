// Collections on the page: a tree of groups, and of each its description, files with thumbnails, record and versions.
import { $, ask, changes, complain, el, fill, headers, views, want } from "./app.js";

/** Files of a part that are shown at first. */
const FILES = 60;
/** Characters of a text that are shown. */
const CHARACTERS = 20_000;
const REF = ".ref.json";

/** What is shown: an entity's id, a version of it, whether all its files. */
const at = { id: null, ver: null, everything: false };
/** Parts whose parts are shown in the tree. */
const open = new Set();

const name = () => $("collection-name").value;
const place = (what, query = {}) => `/collections/${encodeURIComponent(name())}/${what}?${new URLSearchParams(query)}`;

function go(id, ver = null) {
  Object.assign(at, { id, ver, everything: false });
  $("collection-file").replaceChildren();
  want("collections");
}

async function bytesOf(path) {
  const reply = await fetch(path, { headers: headers() });
  return reply.ok ? reply : null;
}

/** A picture that only those see who may: it is asked for with the visitor's token. */
async function picture(image, path) {
  const reply = await bytesOf(path);
  if (!reply) return image.remove();
  const address = URL.createObjectURL(await reply.blob());
  image.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
  image.src = address;
}

/** What a ref says: the image that it stands for, and the text that was read off it. */
async function refOf({ cid }) {
  const reply = await bytesOf(`/cat/${cid}`);
  const ref = await reply?.json().catch(() => null);
  const asset = ref?.url?.split("/").pop();
  return { asset: asset ? `/preprocess/asset/${encodeURIComponent(asset)}` : null, text: ref?.ocr ?? "" };
}

const isRef = ({ component }) => component.endsWith(REF);

async function thumbnail(image, file) {
  const { asset } = await refOf(file);
  if (asset) await picture(image, `${asset}/thumb`);
  else image.remove();
}

async function showFile(file) {
  const parts = [el("h4", {}, file.name)];
  if (isRef(file)) {
    const { asset, text } = await refOf(file);
    const image = el("img", { alt: file.name, className: "page" });
    if (asset) await picture(image, `${asset}/medium`);
    parts.push(image, el("pre", { className: "text" }, text || "Nothing was read off this image."));
  } else {
    const reply = await bytesOf(`/cat/${file.cid}`);
    const text = reply ? await reply.text() : "It cannot be read.";
    const isText = !text.slice(0, CHARACTERS).includes("\u0000");
    parts.push(el("pre", { className: "text" }, isText ? text.slice(0, CHARACTERS) : "This file is no text."));
  }
  $("collection-file").replaceChildren(...parts);
}

function fileItem(file) {
  const button = el("button", { type: "button", className: "quiet", data: { focus: `file ${file.component}` } });
  if (isRef(file)) {
    const image = el("img", { alt: "", className: "thumb" });
    button.append(image);
    thumbnail(image, file).catch(complain);
  }
  button.append(el("span", {}, file.name));
  button.addEventListener("click", () => showFile(file).catch(complain));
  return el("li", { data: { file: file.name } }, button);
}

/** What is between two stars on each side is strong. */
const words = (text) => text.split(/\*\*(.+?)\*\*/).map((part, nth) => (nth % 2 ? el("strong", {}, part) : part));

/** A description's Markdown, as far as descriptions use it. Text stays text. */
function described(text) {
  const blocks = text.trim().split(/\n\s*\n/);
  return blocks.map((block) => {
    const heading = block.match(/^#+\s+(.*)$/);
    if (heading) return el("h4", {}, heading[1]);
    const lines = block.split("\n");
    if (lines.every((line) => line.startsWith(">"))) return el("blockquote", {}, ...words(lines.map((line) => line.slice(1)).join(" ")));
    if (!lines.every((line) => /^[-*]\s/.test(line))) return el("p", {}, ...words(lines.join(" ")));
    return el("ul", {}, ...lines.map((line) => el("li", {}, ...words(line.slice(2)))));
  });
}

function recordOf(record) {
  const shown = ["creator", "created", "type", "language", "subjects", "place"].filter((field) => record?.[field]);
  const text = (value) => (Array.isArray(value) ? value.join(", ") : String(value));
  return el("dl", { className: "record" }, ...shown.map((field) => el("div", {}, el("dt", {}, field), el("dd", {}, text(record[field])))));
}

function versionItem({ ver, ts, note }, shown, newest) {
  const button = el("button", { type: "button", className: "quiet", data: { focus: `version ${ver}` } }, `version ${ver}`);
  button.setAttribute("aria-pressed", String(ver === shown));
  button.addEventListener("click", () => go(at.id, ver === newest ? null : ver));
  return el("li", { data: { ver: String(ver) } }, button, el("time", {}, new Date(ts).toLocaleString()), el("span", { className: "hint" }, note ?? ""));
}

function trail(part) {
  const links = [...part.above, { id: part.entity.id, label: part.label }].map(({ id, label }) => {
    const button = el("button", { type: "button", className: "crumb", data: { focus: `crumb ${id}` } }, label);
    button.addEventListener("click", () => go(id));
    return button;
  });
  return el("nav", { className: "trail", "aria-label": "Where this is" }, ...links);
}

function partView(part) {
  const newest = part.versions[0]?.ver ?? part.entity.ver;
  const old = part.entity.ver === newest ? null : el("p", { className: "notice" }, `This is version ${part.entity.ver} of ${newest}.`);
  const files = part.files.slice(0, at.everything ? part.files.length : FILES);
  const rest = part.files_count - files.length;
  const more = el("button", { type: "button", className: "quiet", hidden: rest === 0 }, `${rest.toLocaleString()} more files`);
  more.addEventListener("click", () => {
    at.everything = true;
    want("collections");
  });
  if (at.everything && rest > 0) more.disabled = true;
  return [
    trail(part), old,
    el("div", { className: "about" }, ...(part.description ? described(part.description) : [el("p", { className: "empty" }, "Not described yet.")])),
    recordOf(part.record),
    el("h4", {}, part.files_count === 1 ? "1 file" : `${part.files_count.toLocaleString()} files`),
    el("ul", { className: "files" }, ...files.map(fileItem)), more,
    el("h4", {}, "Versions"),
    el("ul", { className: "versions" }, ...part.versions.map((version) => versionItem(version, part.entity.ver, newest))),
  ].filter(Boolean);
}

/** A part in the tree, with its parts if it is open. */
async function treeItem({ id, label, files_count: files, children_count: children }) {
  const toggle = el("button", { type: "button", className: "toggle", "aria-label": `parts of ${label}`, "aria-expanded": String(open.has(id)), data: { focus: `toggle ${id}` } }, open.has(id) ? "−" : "+");
  toggle.addEventListener("click", () => {
    if (!open.delete(id)) open.add(id);
    want("collections");
  });
  const button = el("button", { type: "button", className: "branch", data: { focus: `tree ${id}`, part: id } }, label);
  button.setAttribute("aria-current", String(at.id === id));
  button.addEventListener("click", () => {
    open.add(id);
    go(id);
  });
  const count = el("span", { className: "hint" }, files ? ` ${files.toLocaleString()}` : "");
  const inside = children && open.has(id) ? [await branches(id)] : [];
  return el("li", {}, children ? toggle : el("span", { className: "toggle" }), button, count, ...inside);
}

async function branches(id) {
  const { children } = await ask(place("part", { path: id }));
  return el("ul", {}, ...(await Promise.all(children.map(treeItem))));
}

function keepingFocus(box, nodes) {
  const focused = box.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  box.replaceChildren(...nodes);
  if (focused) box.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
}

function choose(collections) {
  const chosen = name();
  const names = collections.map(({ name: one }) => one);
  if ([...$("collection-name").options].map(({ value }) => value).join("\n") === names.join("\n")) return;
  $("collection-name").replaceChildren(...names.map((one) => el("option", { value: one, selected: one === chosen }, one)));
}

async function showCollections() {
  let collections;
  try {
    ({ collections } = await ask("/collections"));
  } catch (error) {
    if (error.status !== 404) throw error;
    $("collections").hidden = true;
    return;
  }
  choose(collections);
  $("collection-box").hidden = collections.length === 0;
  $("collection-none").hidden = collections.length > 0;
  const chosen = collections.find(({ name: one }) => one === name());
  if (!chosen) return;
  const state = chosen.deleting ? "half deleted" : chosen.pending ? "not finished yet" : "";
  $("collection-state").textContent = [`${chosen.files.toLocaleString()} files of ${chosen.folder}`, state].filter(Boolean).join(", ");
  try {
    await showPart(chosen.root_pi);
  } catch (error) {
    if (error.status !== 404) throw error;
    // What was shown is gone, or nothing is there yet.
    if (at.id && at.id !== chosen.root_pi) return go(null);
    keepingFocus($("collection-tree"), []);
    keepingFocus($("collection-part"), [el("p", { className: "empty" }, "Nothing is in it yet.")]);
  }
}

async function showPart(root) {
  const query = { path: at.id ?? root, ...(at.ver ? { ver: at.ver } : {}) };
  const [part, top] = await Promise.all([ask(place("part", query)), ask(place("part"))]);
  part.above.forEach(({ id }) => open.add(id));
  const item = { id: top.entity.id, label: top.label, files_count: top.files_count, children_count: top.children_count };
  at.id = part.entity.id;
  open.add(top.entity.id);
  keepingFocus($("collection-tree"), [await treeItem(item)]);
  keepingFocus($("collection-part"), partView(part));
}

async function search(event) {
  event.preventDefault();
  const query = $("collection-search").value.trim();
  if (!query) return fill("collection-hits", [], "");
  try {
    const { hits, more } = await ask(place("search", { q: query }));
    $("collection-found").textContent = `${hits.length} found${more ? ", and there are more" : ""}`;
    fill("collection-hits", hits.map((hit) => {
      const button = el("button", { type: "button", className: "quiet" }, [hit.path || name(), hit.file].filter(Boolean).join("/"));
      button.addEventListener("click", () => go(hit.id));
      return el("li", {}, button, el("p", { className: "said" }, hit.excerpt));
    }), "Nothing has all these words.");
  } catch (error) {
    complain(error);
  }
}

views.collections = showCollections;
changes.push(({ kind, name: object }) => {
  if (kind === "collections" || (kind === "entity" && object === at.id)) want("collections");
});
$("collection-name").addEventListener("change", () => {
  open.clear();
  fill("collection-hits", [], "");
  $("collection-found").textContent = "";
  go(null);
});
$("collection-form").addEventListener("submit", search);
want("collections");
