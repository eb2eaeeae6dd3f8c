// The last minutes of a lock: a lane for each owner, with its waits, its holds and what happened.

import { el } from "./dom.js";
import { label, time } from "./format.js";
import { now } from "./store.js";

const ranges = { "1 min": 60e3, "5 min": 300e3, "15 min": 900e3 };
const maxLanes = 12;
const ends = { released: "released", expired: "expired", forced: "forced" };

export class Timeline {
  constructor() {
    this.range = 60e3;
    this.lanes = el("div", { class: "lanes" });
    this.axis = el("div", { class: "axis", "aria-hidden": "true" });
    this.buttons = Object.entries(ranges).map(([text, ms]) => el("button", { type: "button", text, onclick: () => this.choose(ms) }));
    this.element = el("div", { class: "timeline", role: "img", "aria-label": "Timeline; the list of events says the same in words" },
      el("div", { class: "timeline-head" },
        el("p", { class: "legend", "aria-hidden": "true" }, ...["hold", "wait", "renewed", "forced", "gap"].map((k) => el("span", { class: k }, el("i"), { hold: "holds", wait: "waits", renewed: "renewed", forced: "lost or taken", gap: "not watched" }[k]))),
        el("div", { class: "ranges", role: "group", "aria-label": "Range" }, ...this.buttons)), this.lanes, this.axis);
    this.choose(this.range);
  }

  choose(ms) {
    this.range = ms;
    this.buttons.forEach((b, i) => b.setAttribute("aria-pressed", Object.values(ranges)[i] === ms));
    if (this.story) this.show(this.story, this.row);
  }

  reset() {
    this.story = this.row = null;
    this.lanes.replaceChildren();
  }

  // show draws what has happened until now. Row is the lock, if it is there.
  show(story, row) {
    this.story = story;
    this.row = row;
    const to = now();
    const from = to - this.range;
    const lanes = lanesOf(story, row, to).filter((l) => l.last >= from).slice(0, maxLanes);
    const place = (e, a, b) => {
      e.style.left = (100 * Math.max(0, a - from)) / this.range + "%";
      if (b !== undefined) e.style.width = Math.max(0.15, (100 * (Math.min(b, to) - Math.max(a, from))) / this.range) + "%";
      return e;
    };
    const unwatched = [...story.gaps.map((g) => [g.from, g.to || to]), ...(story.began > from ? [[from, story.began]] : [])].filter(([, b]) => b > from);
    const gaps = () => unwatched.map(([a, b]) => place(el("i", { class: "gap" }), a, b));
    this.lanes.replaceChildren(...lanes.map((lane) => el("div", { class: "lane" },
      el("span", { class: "lane-name", text: label(lane.party), title: lane.party.owner }),
      el("div", { class: "lane-track" }, ...gaps(),
        ...lane.spans.filter((s) => s.to > from).map((s) => place(el("i", { class: `span ${s.kind} ${s.end || ""}`, title: s.kind }), s.from, s.to)),
        ...lane.marks.filter((m) => m.at > from).map((m) => place(el("i", { class: "tick " + m.kind, title: `${time(m.at)} ${m.text}` }), m.at))))));
    if (!lanes.length) this.lanes.append(el("p", { class: "empty small", text: "Nobody held it or waited in this time." }));
    this.axis.replaceChildren(...[1, 0.75, 0.5, 0.25, 0].map((part) => el("span", { class: "num", text: part ? "−" + ago(part * this.range) : "now" })));
  }
}

const ago = (ms) => (ms < 100e3 ? Math.round(ms / 1000) + " s" : +(ms / 60e3).toFixed(1) + " min");

// lanesOf turns events into spans: first the holders and the queue in its order, then those of before.
export function lanesOf(story, row, to) {
  const lanes = new Map();
  const laneOf = (party) => {
    if (!lanes.has(party.key)) lanes.set(party.key, { party, spans: [], marks: [], hold: null, wait: null, last: 0 });
    return lanes.get(party.key);
  };
  const close = (lane, what, at, end) => {
    if (lane[what]) lane.spans.push({ kind: what, from: lane[what], to: at, end });
    lane[what] = null;
  };
  for (const e of story.events) {
    if (!e.owner) continue;
    const lane = laneOf(e.owner);
    lane.last = Math.max(lane.last, e.at);
    if (e.kind === "waits") lane.wait ||= e.at;
    else if (e.kind === "left") close(lane, "wait", e.at);
    else {
      close(lane, "wait", e.at);
      if (e.kind !== "finding") lane.hold ||= e.kind === "granted" || lane.spans.some((s) => s.kind === "hold") ? e.at : story.began || e.at; // held before anybody looked
      if (ends[e.kind]) close(lane, "hold", e.at, ends[e.kind]);
    }
    if (e.kind !== "waits" && e.kind !== "granted") lane.marks.push({ at: e.at, kind: e.kind, text: e.text });
  }
  for (const h of row?.holders || []) {
    const lane = laneOf(h);
    lane.party = h;
    lane.hold ||= h.since;
  }
  for (const w of row?.queue || []) laneOf(w).wait ||= story.began || to;
  for (const lane of lanes.values()) {
    if (!lane.hold && !lane.wait) continue;
    close(lane, "wait", to);
    close(lane, "hold", to);
    lane.last = to;
  }
  const order = [...(row?.holders || []), ...(row?.queue || [])].map((p) => p.key);
  const rank = (lane) => (order.indexOf(lane.party.key) + 1 || Infinity);
  return [...lanes.values()].sort((a, b) => (rank(a) === rank(b) ? b.last - a.last : rank(a) - rank(b)));
}
