// The view of who blocks whom.

import { el } from "./dom.js";
import { count, label, plural, shortOwner } from "./format.js";
import { forest } from "./blocks.js";
import { store } from "./store.js";
import { kindOf, mark } from "./table.js";

const maxTrees = 100;
const maxWaiters = 50;
const maxDepth = 40; // of locks below one another
const maxLines = 400; // of waiters on the page
let left = 0; // of those lines

export class TreeView {
  constructor(root) {
    this.root = root;
  }

  draw() {
    const trees = forest(store.shown);
    left = maxLines;
    const focused = document.activeElement?.closest("#view-blocks a")?.getAttribute("href");
    this.root.replaceChildren(...[
      el("p", { class: "lead", text: trees.length ? `${plural(trees.length, "root blocker")}, the one that most wait behind first.` : "" }),
      ...trees.slice(0, maxTrees).map((t) => el("section", { class: "tree" }, lock(t, 0))),
      trees.length > maxTrees && el("p", { class: "rest", text: `and ${count(trees.length - maxTrees)} more` }),
      trees.length === 0 && el("p", { class: "empty", text: "Nobody waits for a lock." })].filter(Boolean));
    if (focused) [...this.root.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus();
  }
}

function cycleMark(cycle) {
  if (cycle === 2) return mark("bad", "cycle", "Each waits for the other.");
  return cycle === 1 && mark("warn", "possible cycle", "A wait may have ended before another began, or another goroutine may release a lock.");
}

// lock is a lock, its holders, and those who wait for it.
function lock(node, depth) {
  const row = node.row;
  const root = depth === 0;
  const some = node.waiters.slice(0, Math.min(maxWaiters, left));
  left -= some.length;
  const rest = node.waiters.length + node.unlisted - some.length;
  return el("div", { class: "node" },
    el("div", { class: "node-head" },
      el("a", { href: "#/lock/" + row.id, class: "name", text: row.name, title: row.name }),
      el("span", { class: "kind", text: kindOf(row) }),
      el("span", { class: "holds" }, row.holders.length ? "held by " : "free", ...row.holders.slice(0, 3).map((h, i) => el("b", { text: (i ? ", " : "") + label(h), title: h.owner })), row.held > 3 ? ` and ${count(row.held - 3)} more` : ""),
      row.stopped && mark("warn", "paused"),
      root && cycleMark(node.cycle),
      root && el("span", { class: "weight num", text: `blocks ${count(node.total)}` })),
    el("ol", {}, ...some.map((b, i) => waiter(b, i, depth)),
      rest > 0 && el("li", { class: "rest", text: `and ${count(rest)} more` }),
      node.unnamed > 0 && el("li", { class: "rest", text: `${plural(node.unnamed, "process listens", "processes listen")} for its release, in no order` })));
}

function waiter(branch, i, depth) {
  const w = branch.waiter;
  return el("li", {},
    el("div", { class: "waiter" }, el("span", { class: "turn num", text: i + 1 }), el("b", { text: label(w), title: w.owner }), w.name && el("code", { class: "owner", text: shortOwner(w.owner) }),
      branch.locks.length > 0 && el("span", { class: "via", text: branch.process ? "its process holds" : "holds" }),
      branch.cycle && el("span", { class: "via" }, "holds ", el("a", { href: "#/lock/" + branch.cycle.id, text: branch.cycle.name }), " above: a " + (branch.certain ? "cycle" : "possible cycle"))),
    ...branch.locks.map((l) => (depth < maxDepth && left > 0 ? lock(l, depth + 1) : el("p", { class: "rest" }, el("a", { href: "#/lock/" + l.row.id, text: l.row.name }), ` blocks ${count(l.total)} more`))));
}
