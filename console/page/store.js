// What the page knows of the locks. Rows are never changed, only replaced: so a view that stands
// still is a copy of the map.

import { label } from "./format.js";

export const store = {
  rows: new Map(), // the newest, by id
  shown: new Map(), // what the views show: rows, or those of when the view was paused
  paused: false,
  behind: 0, // rows that changed since
  pausedAt: 0,
  offset: 0, // by how much the clock of the console is ahead
  title: "",
  unlock: false,
  walked: false,
  hidden: 0,
  notice: "",
  trouble: null,
  ready: false,
};

let fresh = null; // the table of a new connection, until it is complete

// now is the time by the clock of the console, which stands still while the view is paused.
export const now = () => (store.paused ? store.pausedAt : Date.now() + store.offset);

// take takes one event of the stream. It returns whether rows came or went, and which have changed.
export function take(kind, data) {
  switch (kind) {
    case "hello":
      keepTime(data.at, true);
      Object.assign(store, { title: data.title, unlock: data.unlock, trouble: null });
      extent(data);
      fresh = new Map();
      return null;
    case "rows":
      for (const row of data.set) fresh.set(row.id, prepare(row));
      return null;
    case "ready":
      return become(fresh);
    case "change":
      store.offset = Math.max(store.offset, data.at - Date.now()); // whoever pauses now has seen all until then
      return apply(data.set || [], data.gone || [], extent(data));
    case "trouble":
      store.trouble = data;
      return { order: false, changed: new Set() };
    case "well":
      store.trouble = null;
      return { order: false, changed: new Set() };
    case "beat":
      keepTime(data.at, false);
  }
  return null;
}

// extent takes how much of all locks the rows are, and says whether that has changed.
function extent({ walked, hidden = 0, notice = "" }) {
  const changed = walked !== store.walked || hidden !== store.hidden || notice !== store.notice;
  Object.assign(store, { walked, hidden, notice });
  return changed;
}

// keepTime learns the clock of the console from what it has sent at that time. The message that took
// least time says most, unless a clock has been set.
function keepTime(at, first) {
  const ahead = at - Date.now();
  const set = Math.abs(ahead - store.offset) > 5000;
  store.offset = first || set ? ahead : Math.max(store.offset, ahead);
}

// become replaces the table after a new connection.
function become(rows) {
  store.rows = rows;
  store.ready = true;
  fresh = null;
  if (!store.paused) store.shown = rows;
  return { order: true, changed: new Set(rows.keys()) };
}

function apply(set, gone, order) {
  const rows = fresh || store.rows;
  const changed = new Set(gone);
  order ||= gone.length > 0;
  for (const id of gone) rows.delete(id);
  for (const row of set) {
    order = order || !rows.has(row.id);
    rows.set(row.id, prepare(row));
    changed.add(row.id);
  }
  if (fresh) return null;
  if (store.paused) store.behind += changed.size;
  return { order, changed };
}

export function pause(on) {
  store.pausedAt = Date.now() + store.offset;
  store.paused = on;
  store.behind = 0;
  store.shown = on ? new Map(store.rows) : store.rows;
}

// prepare adds what is compared.
function prepare(row) {
  row.sort = row.name.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0"));
  row.by = row.holders.length ? label(row.holders[0]).toLowerCase() : "\uffff";
  row.since = row.holders.length ? Math.min(...row.holders.map((h) => h.since)) : Infinity;
  row.waits = Math.max(row.queued, row.waiting, 0);
  row.stopped = row.holders.some((h) => h.paused || h.dead);
  return row;
}

// textOf is what is searched. It is made when it is needed first.
function textOf(row) {
  row.text ??= [row.name, row.kind, ...[...row.holders, ...row.queue, ...(row.told || [])].flatMap((p) => [p.owner, p.name, p.addr, p.note]), ...row.findings.map((f) => f.code)].join("\n").toLowerCase();
  return row.text;
}

// The filters, and how many rows each has.
export const filters = {
  all: { text: "All", has: () => true },
  waits: { text: "Waited for", has: (r) => r.waits > 0 },
  findings: { text: "Findings", has: (r) => r.findings.length > 0 },
  paused: { text: "Paused", has: (r) => r.stopped },
};

const byName = (a, b) => (a.sort < b.sort ? -1 : a.sort > b.sort ? 1 : 0);
const ends = (r) => (r.ends < 0 ? Infinity : r.ends);
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// The orders. Each has the name as its last word.
export const orders = {
  name: { text: "Lock", by: byName },
  holder: { text: "Held by", by: (a, b) => compare(a.by, b.by) },
  left: { text: "Lease", by: (a, b) => compare(ends(a), ends(b)) },
  since: { text: "Held for", by: (a, b) => compare(a.since, b.since) },
  waits: { text: "Waiting", by: (a, b) => b.waits - a.waits },
  notes: { text: "Notes", by: (a, b) => grade(b) - grade(a) },
};

const grade = (r) => 4 * r.findings.length + 2 * r.stopped;

// counts says how many rows each filter has.
export function counts() {
  const found = Object.fromEntries(Object.keys(filters).map((f) => [f, 0]));
  for (const row of store.shown.values()) {
    for (const f in filters) if (filters[f].has(row)) found[f]++;
  }
  return found;
}

// select returns the rows that match, in order, and how many each filter has.
export function select({ words, filter, order, down }) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [];
  for (const row of store.shown.values()) {
    if (filters[filter].has(row) && wanted.every((w) => textOf(row).includes(w))) rows.push(row);
  }
  const by = orders[order].by;
  rows.sort((a, b) => (down ? -by(a, b) : by(a, b)) || byName(a, b));
  return { rows, counts: counts() };
}
