// The page of one lock: who holds it, who waits, what is wrong, and its last minutes.

import { Bar } from "./bar.js";
import { el, setText } from "./dom.js";
import { count, label, plural, shortOwner, span, time } from "./format.js";
import { now, store } from "./store.js";
import { authorization } from "./stream.js";
import { inUse, kindOf, mark } from "./table.js";
import { Timeline } from "./timeline.js";

const words = {
  granted: "granted", reentry: "again", renewed: "renewed", released: "released", expired: "expired", forced: "taken away",
  waits: "waits", left: "left", paused: "paused", resumed: "resumed", finding: "finding", noted: "note", recalled: "asked for",
};

export class LockView {
  constructor(root, { token, unlock }) {
    this.root = root;
    this.token = token;
    this.unlock = unlock;
    this.bars = [];
    this.timeline = new Timeline();
  }

  // open shows a lock.
  open(id) {
    this.id = id;
    this.drawn = undefined;
    this.last = store.shown.get(id);
    this.story = { events: [], gaps: [], began: 0 };
    this.head = el("header", { class: "lock-head" });
    this.facts = el("div", { class: "facts" });
    this.events = el("ol", { class: "events", "aria-label": "Events" });
    this.root.replaceChildren(
      el("p", { class: "back" }, el("a", { href: "#/", text: "← Locks" })), this.head, this.facts,
      el("h2", { text: "Last minutes" }), this.timeline.element,
      el("h2", { text: "Events" }), this.events);
    this.timeline.reset();
    this.draw();
    this.fetch();
  }

  close() {
    this.id = null;
    this.clear();
    this.root.replaceChildren();
  }

  clear() {
    this.bars.forEach((b) => b.drop());
    this.bars = [];
  }

  // changed is called when the lock has changed.
  changed() {
    if (!this.id || store.paused) return;
    this.draw();
    this.fetch();
  }

  // draw shows the lock, unless nothing is new, or a click on a button has begun: that would be lost
  // with the button. The next tick draws it then.
  draw() {
    const row = store.shown.get(this.id);
    const what = row || absence();
    if (!this.id || what === this.drawn || this.facts.querySelector("button:active")) return;
    this.drawn = what;
    if (row) this.last = row;
    this.clear();
    const known = row || this.last;
    this.head.replaceChildren(
      el("h1", { text: known ? known.name : what === free ? "A lock that is gone" : "A lock" }),
      el("p", { class: "sub" }, ...this.summary(row)));
    const focused = this.facts.contains(document.activeElement) && document.activeElement.dataset.key;
    this.facts.replaceChildren(...(row ? [this.findings(row), this.holders(row), this.queue(row)].filter(Boolean) : []));
    if (focused) this.facts.querySelector(`button[data-key="${CSS.escape(focused)}"]`)?.focus();
    this.tick();
  }

  summary(row) {
    if (!row) return [absence() === free && mark("calm", "free"), el("span", { text: absence() })].filter(Boolean);
    const parts = [{ mutex: "mutex", fair: "fair lock", readwrite: "read-write lock", permits: "semaphore" }[row.kind] || row.kind];
    const permits = row.kind === "permits";
    if (permits) parts.push(`${inUse(row)} in use, ${count(row.free || 0)} free`);
    else if (row.mode !== "exclusive") parts.push(kindOf(row) || "free");
    if (row.token !== "0") parts.push(`last token ${row.token}`);
    if (row.waiting > 0) parts.push(`${plural(row.waiting, "process", "processes")} listening for ${permits ? "a permit" : "its release"}`);
    return [el("span", { text: parts.filter(Boolean).join(" · ") })];
  }

  findings(row) {
    if (!row.findings.length) return null;
    return el("ul", { class: "finding-list", "aria-label": "Findings" }, ...row.findings.map((f) => el("li", {}, mark("warn", f.code), el("span", { text: f.text }))));
  }

  holders(row) {
    const writers = row.holders.filter((h) => h.write);
    const readers = row.holders.filter((h) => !h.write);
    const list = (title, holders, all) => holders.length > 0 && el("section", { class: "parties" },
      el("h2", {}, title, el("small", { text: all > 1 ? count(all) : "" })), ...holders.map((h) => this.holder(row, h)),
      all > holders.length && el("p", { class: "rest", text: `and ${count(all - holders.length)} more` }));
    if (row.kind === "permits") return list("Permits in use, by id. Redis does not know whose they are", row.holders, row.held) || null;
    if (row.kind !== "readwrite") return list("Held by", row.holders, row.held) || null;
    const parts = [list("Writer", writers, writers.length), list("Readers", readers, row.held - writers.length)].filter(Boolean);
    return parts.length ? el("div", { class: "sides" }, ...parts) : null;
  }

  holder(row, h) {
    const bar = new Bar();
    bar.show(h.ends, h.full);
    this.bars.push(bar);
    const since = el("span", { class: "num", "data-since": h.since, "data-least": h.least ? "1" : null });
    return el("article", { class: "party", "data-mode": row.kind !== "readwrite" ? null : h.write ? "write" : "read" }, this.who(h),
      el("div", { class: "party-lease" }, bar.element),
      el("p", { class: "detail" }, since, h.count > 1 && el("span", { text: `count ${count(h.count)}` }), ...protection(h),
        h.note && el("span", { class: "note", text: h.note }), h.asked && mark("warn", h.asked)),
      store.unlock && el("button", { type: "button", class: "danger quiet", "data-key": h.key, text: "Take away…", onclick: () => this.unlock(row, h, () => this.fetch()) }));
  }

  who(p) {
    const owner = el("code", { class: "owner", text: p.name ? p.owner : shortOwner(p.owner), title: p.owner });
    return el("div", { class: "identity" }, el("strong", { text: label(p) }), p.name && owner, p.addr && el("span", { class: "addr", text: p.addr }));
  }

  queue(row) {
    if (!row.queue.length) return null;
    return el("section", { class: "parties" }, el("h2", {}, "Queue", el("small", { text: count(row.queued) })),
      el("ol", { class: "queue" }, ...row.queue.map((w, i) => el("li", {}, el("span", { class: "turn num", text: i + 1 }), this.who(w),
        el("span", { class: "detail num", "data-deadline": w.deadline })))),
      row.queued > row.queue.length && el("p", { class: "rest", text: `and ${count(row.queued - row.queue.length)} more` }));
  }

  // fetch gets the events since the last one, one request at a time.
  async fetch() {
    if (!this.id) return;
    if (this.busy) return void (this.more = true);
    this.busy = true;
    const id = this.id;
    try {
      const after = this.story.events.at(-1)?.n || 0;
      const answer = await fetch(`story?lock=${encodeURIComponent(id)}&after=${after}`, { headers: authorization(this.token()), signal: AbortSignal.timeout(10000) });
      if (answer.ok && id === this.id) this.add(await answer.json());
    } catch {
      // the stream says that the console is away
    }
    this.busy = false;
    if (this.more && this.id) setTimeout(() => this.fetch(), 250);
    this.more = false;
  }

  add(report) {
    if (this.story.began && this.story.began !== report.began) { // another console: its numbers are others
      this.story = { events: [], gaps: [], began: 0 };
      this.more = true;
      return;
    }
    this.story = { began: report.began, gaps: report.gaps, events: [...this.story.events, ...report.events].slice(-256) };
    const { events } = this.seen();
    const lines = events.slice(-100).reverse().map((e) => el("li", { "data-kind": e.kind },
      el("time", { class: "num", text: time(e.at) }), el("b", { text: words[e.kind] || e.kind }),
      el("span", { class: "whom", text: e.owner ? label(e.owner) : "", title: e.owner?.owner }), el("span", { class: "what", text: e.text })));
    this.events.replaceChildren(...(lines.length ? lines : [el("li", { class: "none", text: "Nothing has happened to it since the console looks." })]));
    this.timeline.show(this.seen(), store.shown.get(this.id));
  }

  // seen is the story until now, where the view may stand still.
  seen() {
    return store.paused ? { ...this.story, events: this.story.events.filter((e) => e.at <= now()) } : this.story;
  }

  tick() {
    if (!this.id) return;
    this.draw();
    for (const e of this.root.querySelectorAll("[data-since]")) setText(e, `held for ${e.dataset.least ? "more than " : ""}${span(now() - e.dataset.since)}`);
    for (const e of this.root.querySelectorAll("[data-deadline]")) {
      const rest = e.dataset.deadline - now();
      setText(e, rest > 0 ? `counts as alive for ${span(rest)}` : "its keep-alive is overdue");
    }
    this.timeline.show(this.seen(), store.shown.get(this.id));
  }
}

// absence is what is known of a lock that is not in the table.
const free = "Nobody holds it or waits in its queue now.";
const absence = () => (!store.ready || !store.walked ? "Looking for it." : store.hidden ? "It is free, or one of the locks that are not shown." : free);

function protection(h) {
  if (!h.protected) return [];
  const by = h.watchdog ? `, renewed by ${h.watchdog}` : "";
  if (h.dead) return [mark("bad", "dead", "The heartbeat is overdue, and the process is gone.")];
  if (h.paused) return [mark("warn", `paused for ${span(now() - h.paused)}${by}`)];
  return [mark("calm", "protected")];
}
