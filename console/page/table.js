// The table of all locks. Only the rows that can be seen exist.

import { Bar } from "./bar.js";
import { el, setText } from "./dom.js";
import { count, label, plural, span } from "./format.js";
import { now, orders } from "./store.js";

const spare = 6; // rows above and below what is seen

export class Table {
  constructor(root, { open, sort }) {
    this.rows = [];
    this.lines = new Map(); // by id
    this.selected = null;
    this.open = open;
    this.heads = Object.entries(orders).map(([name, o]) => el("button", { type: "button", class: "head by-" + name, role: "columnheader", onclick: () => sort(name), text: o.text }));
    this.head = el("div", { class: "row heads", role: "row" }, ...this.heads);
    this.canvas = el("div", { class: "canvas", role: "rowgroup" });
    this.empty = el("p", { class: "empty", hidden: true });
    this.grid = el("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": "Locks", onscroll: () => this.later(), onkeydown: (e) => this.key(e) }, this.head, this.canvas, this.empty);
    root.append(this.grid);
    new ResizeObserver(() => this.measure()).observe(this.grid);
  }

  measure() {
    this.height = parseFloat(getComputedStyle(this.grid).getPropertyValue("--row")) || 44;
    this.later();
  }

  // show shows these rows in this order.
  show(rows, { order, down }, nothing) {
    this.rows = rows;
    this.empty.hidden = rows.length > 0;
    setText(this.empty, nothing);
    this.grid.setAttribute("aria-rowcount", rows.length + 1);
    this.heads.forEach((h, i) => h.setAttribute("aria-sort", Object.keys(orders)[i] !== order ? "none" : down ? "descending" : "ascending"));
    this.later();
  }

  // later draws once in the next frame, however often it is asked to.
  later() {
    this.asked ||= requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  draw() {
    if (!this.height || !this.grid.clientHeight) return;
    const first = Math.max(0, Math.floor(this.grid.scrollTop / this.height) - spare);
    const last = Math.min(this.rows.length, Math.ceil((this.grid.scrollTop + this.grid.clientHeight) / this.height) + spare);
    this.canvas.style.height = this.rows.length * this.height + "px";
    const seen = this.rows.slice(first, last);
    const idle = this.idle(new Set(seen.map((r) => r.id)));
    seen.forEach((row, i) => {
      let line = this.lines.get(row.id);
      if (!line) {
        line = idle.pop() || new Line(this.canvas, this.open);
        this.lines.set(row.id, line);
      }
      line.place(first + i, this.height);
      line.show(row, row.id === this.selected);
    });
    idle.forEach((line) => line.drop());
    const active = this.selected !== null && this.lines.get(this.selected);
    if (active) this.grid.setAttribute("aria-activedescendant", active.element.id);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  // idle takes the lines whose rows are not seen any more. They are used for others.
  idle(seen) {
    const lines = [];
    for (const [id, line] of this.lines) {
      if (seen.has(id)) continue;
      lines.push(line);
      this.lines.delete(id);
    }
    return lines;
  }

  tick() {
    this.lines.forEach((line) => line.tick());
  }

  key(e, anywhere) {
    if (!anywhere && e.target !== this.grid || e.altKey || e.ctrlKey || e.metaKey) return;
    const at = this.rows.findIndex((r) => r.id === this.selected);
    const page = Math.max(1, Math.floor(this.grid.clientHeight / this.height) - 2);
    const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.rows.length - 1 }[e.key];
    if (to !== undefined) this.choose(Math.max(0, Math.min(this.rows.length - 1, to)));
    else if (e.key === "Enter" && at >= 0) this.open(this.selected);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  // choose selects a row and brings it into view.
  choose(i) {
    if (!this.rows[i]) return;
    this.selected = this.rows[i].id;
    const top = i * this.height;
    const room = this.grid.clientHeight - this.head.offsetHeight - this.height;
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    else if (top > this.grid.scrollTop + room) this.grid.scrollTop = top - room;
    this.later();
  }
}

// Line is one row on the page.
class Line {
  constructor(canvas, open) {
    this.bar = new Bar();
    this.name = el("span", { class: "name" });
    this.kind = el("span", { class: "kind" });
    this.holder = el("span", { class: "who" });
    this.more = el("span", { class: "more" });
    this.since = el("div", { class: "cell since num", role: "gridcell" });
    this.waits = el("div", { class: "cell waits num", role: "gridcell" });
    this.notes = el("div", { class: "cell notes", role: "gridcell" });
    this.element = el("div", { class: "row line", role: "row", onclick: () => open(this.row.id) },
      el("div", { class: "cell lock", role: "gridcell" }, this.name, this.kind),
      el("div", { class: "cell holder", role: "gridcell" }, this.holder, this.more),
      el("div", { class: "cell bar", role: "gridcell" }, this.bar.element),
      this.since, this.waits, this.notes);
    canvas.append(this.element);
  }

  place(i, height) {
    if (this.index === i && this.height === height) return;
    this.index = i;
    this.height = height;
    this.element.style.transform = `translateY(${i * height}px)`;
    this.element.setAttribute("aria-rowindex", i + 2);
  }

  show(row, selected) {
    this.element.classList.toggle("selected", selected);
    if (selected) this.element.setAttribute("aria-selected", "true");
    else this.element.removeAttribute("aria-selected");
    if (row === this.row) return;
    this.row = row;
    this.element.id = "row-" + row.id;
    setText(this.name, row.name);
    this.name.title = row.name;
    setText(this.kind, kindOf(row));
    const one = row.kind !== "permits";
    setText(this.holder, one ? (row.holders.length ? label(row.holders[0]) : "nobody") : `${inUse(row)} in use`);
    this.holder.title = row.holders.length ? row.holders[0].owner : "";
    setText(this.more, one && row.held > 1 ? "+" + count(row.held - 1) : "");
    this.element.dataset.mode = row.mode || "free";
    this.bar.show(row.ends, row.full);
    setText(this.waits, row.waits > 0 ? count(row.waits) : "");
    this.notes.replaceChildren(...notes(row));
    this.tick();
  }

  tick() {
    const row = this.row;
    const since = Number.isFinite(row.since) ? span(now() - row.since) : "";
    setText(this.since, since && row.holders[0].least ? "> " + since : since);
  }

  drop() {
    this.bar.drop();
    this.element.remove();
  }
}

// inUse says how many permits of a semaphore are in use.
export const inUse = (row) => `${count(row.held)} of ${plural(row.held + (row.free || 0), "permit")}`;

export function kindOf(row) {
  if (row.kind === "permits") return "semaphore";
  if (row.mode === "read") return row.held > 1 ? `${count(row.held)} readers` : "reader";
  if (row.mode === "write") return "writer";
  return row.kind === "fair" ? "fair" : "";
}

// notes are the marks of a row, the worst first.
export function notes(row) {
  const marks = [];
  if (row.holders.some((h) => h.dead)) marks.push(mark("bad", "dead", "The heartbeat is overdue, and the process is gone."));
  else if (row.stopped) marks.push(mark("warn", "paused", "The heartbeat of the holder is overdue."));
  for (const f of row.findings) marks.push(mark("warn", f.code, f.text));
  const asked = row.holders.find((h) => h.asked);
  if (asked) marks.push(mark("warn", "recalled", asked.asked));
  const noted = row.holders.find((h) => h.note);
  if (noted) marks.push(el("span", { class: "note", text: noted.note, title: noted.note }));
  return marks;
}

export const mark = (kind, text, title) => el("span", { class: "mark " + kind, text, title });
