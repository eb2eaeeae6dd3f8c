// The page: it follows the stream, and shows one of its views.

import { restartBars, tickBars } from "./bar.js";
import { forest } from "./blocks.js";
import { byId, el, setText } from "./dom.js";
import { count } from "./format.js";
import { LockView } from "./lock.js";
import { counts, filters, orders, pause, select, store, take } from "./store.js";
import { follow } from "./stream.js";
import { Table } from "./table.js";
import { TreeView } from "./tree.js";
import { ask, takeFromAddress, token } from "./unlock.js";

const wish = { words: "", filter: "all", order: "name", down: false };
const link = { state: "connecting", detail: "" };
let view = "locks";

takeFromAddress();
const table = new Table(byId("table"), { open: (id) => go("#/lock/" + id), sort });
const lockView = new LockView(byId("view-lock"), { token: token.get, unlock: ask });
const treeView = new TreeView(byId("view-blocks"));

function sort(order) {
  wish.down = wish.order === order && !wish.down;
  wish.order = order;
  byId("sort").value = order;
  refresh(true);
}

// refresh shows what has changed. It sorts only if rows came or went, or the order depends on more
// than the name.
let sorted = null;
function refresh(order) {
  if (order || !sorted || wish.order !== "name" || wish.filter !== "all" || wish.words) sorted = select(wish);
  else sorted = { rows: sorted.rows.map((r) => store.shown.get(r.id) || r), counts: counts() };
  table.show(sorted.rows, wish, nothing());
  for (const [name, button] of Object.entries(chips)) {
    setText(button.lastChild, count(sorted.counts[name]));
    button.setAttribute("aria-pressed", wish.filter === name);
    button.classList.toggle("none", sorted.counts[name] === 0);
  }
}

function nothing() {
  if (!store.ready) return "Waiting for the console.";
  if (store.shown.size) return "No lock matches.";
  return store.walked ? "No lock is held or waited for." : "Looking for locks.";
}

const chips = {};
for (const [name, f] of Object.entries(filters)) {
  chips[name] = el("button", { type: "button", class: "chip " + name, onclick: () => { wish.filter = name; refresh(true); } }, f.text, el("span", { class: "num" }));
  byId("filters").append(chips[name]);
}
for (const [name, o] of Object.entries(orders)) byId("sort").append(el("option", { value: name, text: o.text }));
byId("sort").addEventListener("change", (e) => { wish.down = false; wish.order = e.target.value; refresh(true); });
byId("search").addEventListener("input", (e) => { wish.words = e.target.value; refresh(true); });

// Changes are gathered and shown once in a frame.
let gathered = null;
function gather(result) {
  if (!result) return;
  if (!gathered) requestAnimationFrame(showGathered);
  gathered ||= { order: false, rows: false, lock: false }; // no names: a page that is not seen has no frames
  gathered.order ||= result.order;
  gathered.rows ||= result.changed.size > 0;
  gathered.lock ||= result.changed.has(opened);
}

function showGathered() {
  const { order, rows, lock } = gathered;
  gathered = null;
  showLink();
  if (store.paused || !rows && !order && store.ready && sorted) return;
  refresh(order);
  if (lock) lockView.changed();
  else lockView.draw();
  drawTree();
}

// The tree is drawn at most once a second, and only while it is seen.
let drawn = 0;
let later = 0;
function drawTree() {
  clearTimeout(later);
  const wait = drawn + 900 - Date.now();
  if (wait > 0) return void (later = setTimeout(drawTree, wait));
  if (store.paused) return;
  drawn = Date.now();
  const trees = view === "blocks" ? (treeView.draw(), null) : null;
  const total = trees === null && store.shown.size <= 5000 ? forest(store.shown).length : 0;
  setText(byId("blocked"), total ? count(total) : "");
}

// showLink says how old the page is, and why.
function showLink() {
  const state = byId("state");
  const shown = store.paused ? "paused" : link.state === "live" && store.trouble ? "trouble" : link.state;
  state.dataset.state = shown;
  setText(state.lastChild, { live: "live", connecting: "connecting", away: "away", denied: "locked", trouble: "no Redis", paused: store.behind ? `paused, ${count(store.behind)} changes` : "paused" }[shown]);
  const old = link.state === "away" || link.state === "connecting" && store.ready || Boolean(store.trouble);
  if (document.body.classList.toggle("old", old) !== wasOld) restartBars();
  wasOld = old;
  setText(byId("server"), store.title);
  document.title = (store.title ? store.title + " · " : "") + "redlatch console";
  const [what, how] = link.state === "away" || link.state === "connecting" && wasAway ? [link.detail || "The console cannot be reached.", "The page tries again by itself. What it shows is old."]
    : store.trouble ? [store.trouble.text, store.trouble.hint]
    : store.hidden ? [`${count(store.hidden)} locks are not shown.`, "Start the console with a pattern to see fewer."]
    : store.notice ? ["Not everything can be seen.", store.notice] : ["", ""];
  byId("banner").hidden = !what;
  setText(byId("banner").firstChild, what);
  setText(byId("banner").lastChild, how);
}
let wasOld = false;
let wasAway = false;

function say(state, detail) {
  link.state = state;
  if (state !== "connecting") link.detail = detail;
  if (state === "away") wasAway = true;
  if (state === "live") wasAway = false;
  byId("view-token").hidden = state !== "denied";
  if (state === "denied") login(token.get() ? detail : "");
  showLink();
  route();
}

// login asks for the token where everything needs one.
function login(error) {
  token.set("");
  const input = el("input", { type: "password", id: "login", autocomplete: "off", spellcheck: "false", required: true });
  byId("view-token").replaceChildren(el("form", { class: "login", onsubmit: (e) => { e.preventDefault(); token.set(input.value.trim()); again(); } },
    el("h1", { text: "This console needs its token" }), el("p", { text: "It was printed when the console started." }),
    el("label", { class: "field" }, el("span", { text: "Token" }), input), el("p", { class: "error", role: "alert", text: error }), el("button", { type: "submit", class: "main", text: "Open" })));
  input.focus();
}

// route shows the view that the address names.
let opened = null;
function route() {
  const found = /^#\/lock\/([\w-]+)$/.exec(location.hash);
  view = link.state === "denied" ? "token" : found ? "lock" : location.hash === "#/blocks" ? "blocks" : "locks";
  for (const name of ["locks", "lock", "blocks", "token"]) byId("view-" + name).hidden = name !== view;
  const id = view === "lock" ? found[1] : null;
  if (id !== opened) {
    opened = id;
    if (id) {
      table.selected = id;
      lockView.open(id);
      scrollTo(0, 0);
    } else lockView.close();
  }
  for (const [id, views] of [["nav-locks", ["locks", "lock"]], ["nav-blocks", ["blocks"]]]) {
    if (views.includes(view)) byId(id).setAttribute("aria-current", "page");
    else byId(id).removeAttribute("aria-current");
  }
  if (view === "blocks") treeView.draw();
  if (view === "locks") table.measure();
}

// go shows another view at once: the browser tells of a new address later than of the next key.
function go(hash) {
  location.hash = hash;
  arrive();
}

let here = location.hash;
function arrive() {
  if (location.hash === here) return;
  if (takeFromAddress()) again();
  here = location.hash;
  route();
  if (view === "locks") table.grid.focus({ preventScroll: true });
  else byId("main").focus({ preventScroll: true });
}
addEventListener("hashchange", arrive);

function hold() {
  pause(!store.paused);
  byId("pause").setAttribute("aria-pressed", store.paused);
  setText(byId("pause"), store.paused ? "Resume" : "Pause");
  document.body.classList.toggle("paused", store.paused);
  showLink();
  restartBars();
  if (store.paused) return;
  refresh(true);
  drawn = 0;
  drawTree();
  lockView.changed();
}

function help() {
  const keys = [["/", "search"], ["↑ ↓", "choose a lock"], ["Enter", "open it"], ["Esc", "back"], ["p", "pause or resume"], ["b", "who blocks whom"], ["l", "locks"], ["t", "dark or light"], ["?", "this help"]];
  const dialog = el("dialog", { class: "keys", "aria-label": "Keys", onclose: () => dialog.remove() }, el("h2", { text: "Keys" }),
    el("dl", {}, ...keys.flatMap(([key, what]) => [el("dt", {}, el("kbd", { text: key })), el("dd", { text: what })])),
    el("div", { class: "buttons" }, el("button", { type: "button", text: "Close", onclick: () => dialog.close() })));
  document.body.append(dialog);
  dialog.showModal();
}

byId("pause").addEventListener("click", hold);
byId("theme").addEventListener("click", () => globalThis.redlatchTheme());
byId("help").addEventListener("click", help);

const actions = { p: hold, t: () => globalThis.redlatchTheme(), "?": help, b: () => go("#/blocks"), l: () => go("#/"), "/": toSearch };

// toSearch moves the focus at once: the next key may come before the next frame, and belongs to the search.
function toSearch() {
  if (view !== "locks") {
    history.pushState(null, "", "#/"); // without hashchange, which would move the focus on
    route();
  }
  byId("search").focus();
  byId("search").select();
}

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
  const typing = e.target.matches("input, select, textarea");
  if (e.key === "Escape") return escape(e);
  if (typing) {
    if (e.target.id === "search" && (e.key === "ArrowDown" || e.key === "Enter")) { e.preventDefault(); table.grid.focus(); table.choose(0); }
    return;
  }
  if (view === "locks" && e.target === document.body && ["ArrowDown", "ArrowUp", "j", "k"].includes(e.key)) { table.grid.focus(); return table.key(e, true); }
  const action = actions[e.key];
  if (!action) return;
  e.preventDefault();
  action();
});

function escape() {
  const search = byId("search");
  if (view !== "locks") go("#/");
  else if (wish.words) { search.value = wish.words = ""; refresh(true); table.grid.focus(); }
  else table.grid.focus();
}

setInterval(() => {
  if (document.hidden || store.paused) return;
  tickBars();
  if (view === "locks") table.tick();
  if (view === "lock") lockView.tick();
}, 1000);

const again = follow(token.get, (kind, data) => gather(take(kind, data)), say);
route();
showLink();
