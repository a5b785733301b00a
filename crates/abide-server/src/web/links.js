// The links of a store on the page: saved, shown with what was found about them, and processed again.
import { $, act, ask, badge, changes, clock, complain, el, events, fill, views, want } from "./app.js";

/** Links that are shown at first, and as many more at a time. */
const SHOWN = 20;
/** Links on a page of the server at most. */
const PAGE = 100;

let shown = SHOWN;

const store = () => $("links-store").value.trim();

/** What lets somebody into stores that are an organization's: kept until the page is closed. */
const CREDENTIAL = "links-credential";

const credential = () => sessionStorage.getItem(CREDENTIAL);
const showing = () => (credential() ? { authorization: `Bearer ${credential()}` } : {});

function askStore(path, init = {}) {
  return ask(path, { ...init, more: { "x-livestore-store-id": store(), ...showing() }, unauthorized: wantCredential });
}

function wantCredential() {
  $("links-credential-form").hidden = false;
}

/** Ends the tail that is followed; null if there is none. */
let leave = null;

/** Members may not read the feed of the server, and follow the log of their store. */
async function stayLive() {
  leave?.abort();
  const mine = (leave = new AbortController());
  while (credential() && store() && !mine.signal.aborted) {
    try {
      const path = `/sync/${encodeURIComponent(store())}/tail`;
      const tail = events(await fetch(path, { headers: showing(), signal: mine.signal }));
      for await (const { event, data } of tail) {
        if (event === "denied") return;
        if (!data) continue;
        want("links");
        // What is in the log is among the links a moment later.
        setTimeout(() => want("links"), 1500);
      }
    } catch (error) {
      if ([401, 403].includes(error.status)) return;
    }
    if (!mine.signal.aborted) await new Promise((resume) => setTimeout(resume, 2000));
  }
}

/** Addresses come from data: only those of the web are followed. */
const isOfTheWeb = (address) => /^https?:\/\//i.test(address ?? "");

function picture(address) {
  if (!isOfTheWeb(address)) return null;
  const image = el("img", { src: address, alt: "", loading: "lazy", referrerPolicy: "no-referrer", className: "cover" });
  image.addEventListener("error", () => image.remove());
  return image;
}

function title({ url, title: text }) {
  if (!isOfTheWeb(url)) return el("h3", {}, text ?? url);
  return el("h3", {}, el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, text ?? url));
}

/** What failed, or was stopped, can be processed again. */
function retry({ id, url, processing }) {
  if (!["failed", "none"].includes(processing)) return null;
  const button = el("button", { type: "button", className: "quiet", "aria-label": `process ${url} again`, data: { focus: `link ${id}` } }, "retry");
  button.addEventListener("click", () => act(button, () => askStore(`/links/api/links/${encodeURIComponent(id)}/reprocess`, { method: "POST" })));
  return button;
}

function linkRow(link) {
  const { id, domain, summary, summaryModel, description, processing, error, reason, tags, createdAt } = link;
  const created = new Date(createdAt);
  const text = summary ?? description;
  return el("li", { className: "link", data: { link: id } }, picture(link.image),
    el("div", { className: "about" },
      el("div", { className: "head" }, title(link), badge(processing), retry(link)),
      el("p", { className: "hint" }, domain, " · ", el("time", { title: created.toLocaleString() }, clock(created.getTime())),
        tags.length ? ` · ${tags.join(", ")}` : ""),
      text ? el("p", { className: "said" }, text) : null,
      summary && summaryModel ? el("p", { className: "hint by" }, madeBy(summaryModel)) : null,
      error ? el("p", { className: "error" }, reason ? `${error}: ${reason}` : error) : null));
}

/** Who made a summary. */
function madeBy(model) {
  return model === "abide/extractive-1" ? "Sentences of the page, picked without a model." : `Summary by ${model}.`;
}

/** As many links as are shown, from as many pages as that takes. */
async function findLinks() {
  const query = new URLSearchParams({ state: $("links-state").value });
  if ($("links-search").value.trim()) query.set("q", $("links-search").value.trim());
  const links = [];
  for (;;) {
    query.set("limit", String(Math.min(PAGE, shown - links.length)));
    const page = await askStore(`/links/api/links?${query}`);
    links.push(...page.links);
    if (!page.nextCursor || links.length >= shown) return { links, total: page.total, hasMore: Boolean(page.nextCursor) };
    query.set("cursor", page.nextCursor);
  }
}

async function showLinks() {
  if (!store()) return;
  try {
    const { links, total, hasMore } = await findLinks();
    const more = total > links.length ? `, ${links.length} shown` : "";
    $("links-more").hidden = !hasMore;
    $("links-count").textContent = total === 1 ? "1 link" : `${total.toLocaleString()} links${more}`;
    fill("link-list", links.map(linkRow), "No link fits.");
    $("links-credential-form").hidden = true;
  } catch (error) {
    if (![401, 403].includes(error.status)) throw error;
    wantCredential();
    $("links-more").hidden = true;
    $("links-count").textContent = "";
    fill("link-list", [], error.message);
  }
}

async function save(event) {
  event.preventDefault();
  $("problem").hidden = true;
  $("links-saved").textContent = "";
  $("links-url").setAttribute("aria-invalid", "false");
  $("links-save").disabled = true;
  try {
    const { created } = await askStore("/links/api/links", { method: "POST", body: { url: $("links-url").value.trim() } });
    $("links-saved").textContent = created ? "Saved." : "It was there already.";
    $("links-url").value = "";
    await showLinks();
  } catch (error) {
    $("links-url").setAttribute("aria-invalid", "true");
    complain(error);
  } finally {
    $("links-save").disabled = false;
  }
}

views.links = showLinks;
changes.push(({ kind, name }) => {
  if (kind === "links" && name === store()) want("links");
});
$("links-form").addEventListener("submit", save);
$("links-credential-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = $("links-credential").value.trim();
  if (given) sessionStorage.setItem(CREDENTIAL, given);
  else sessionStorage.removeItem(CREDENTIAL);
  $("links-credential").value = "";
  stayLive();
  want("links");
});
$("links-more").addEventListener("click", () => {
  shown += SHOWN;
  want("links");
});
const begin = () => {
  shown = SHOWN;
  want("links");
};
for (const id of ["links-store", "links-state"]) $(id).addEventListener("change", begin);
$("links-store").addEventListener("change", stayLive);
$("links-search").addEventListener("input", begin);
want("links");
stayLive();
