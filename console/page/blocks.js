// Who blocks whom: from the locks that are waited for to those who wait, and on to the locks that
// those hold themselves.

// waitersOf are those who wait for a lock: its queue in its order, then those who say so. More sources
// of waiters are added here.
export const waitersOf = (row) => (row.told ? [...row.queue, ...row.told] : row.queue);

// unlisted is how many more wait than the row lists.
const unlisted = (row) => row.queued - row.queue.length + (row.untold || 0);

// unnamed is how many processes listen beyond those in the queue. Nothing says who they are.
export const unnamed = (row) => Math.max(0, row.waiting - (waitersOf(row).length ? row.waiting : 0));

// A process that holds more locks than this is no link of a chain: nobody can tell which lock counts.
const maxOfProcess = 20;

// forest returns a tree for each lock whose holders wait for nothing: those are the root blockers. The
// lock that most others wait behind is first.
export function forest(rows) {
  const blocked = [...rows.values()].filter((r) => waitersOf(r).length || unnamed(r));
  const holds = held(blocked);
  const owners = new Set();
  const clients = new Map(); // the locks for which a process waits whose waiting owners hold nothing
  for (const r of blocked) {
    for (const w of waitersOf(r)) {
      for (const key of [w.key, ...(w.under || [])]) owners.add(key);
      if (!w.under && !holds.owners.has(w.key)) add(clients, w.client, r);
    }
  }
  const waitsElsewhere = (h, r) => owners.has(h.key) || isLink(holds.clients.get(h.client)) && (clients.get(h.client) || []).some((other) => other !== r);
  const reached = new Set();
  const roots = blocked.filter((r) => !r.holders.some((h) => waitsElsewhere(h, r)));
  const trees = roots.map((r) => tree(r, holds, reached));
  for (const row of blocked) {
    if (!reached.has(row.id)) trees.push(tree(row, holds, reached)); // a cycle has no root
  }
  return trees.sort((a, b) => b.cycle - a.cycle || b.total - a.total || (a.row.sort < b.row.sort ? -1 : 1));
}

const isLink = (rows) => rows !== undefined && rows.length <= maxOfProcess;

function add(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

// held finds the locks that an owner or its process holds, of those that others wait for.
function held(blocked) {
  const owners = new Map();
  const clients = new Map();
  for (const row of blocked) {
    for (const key of new Set(row.holders.map((h) => h.key))) add(owners, key, row);
    for (const key of new Set(row.holders.map((h) => h.client))) add(clients, key, row);
  }
  return { owners, clients };
}

// of returns the locks through which a waiter blocks others, and whether only its process is known to
// hold them: each goroutine of a process may be an owner of its own.
function of(waiter, holds) {
  const own = [waiter.key, ...(waiter.under || [])].flatMap((key) => holds.owners.get(key) || []);
  if (own.length) return { rows: [...new Set(own)], process: false };
  const rows = holds.clients.get(waiter.client);
  return { rows: isLink(rows) ? rows : [], process: true };
}

// isCertain says that the waits of a cycle went on at one moment, and that each waiter itself has the lock
// that the one before it wants.
const isCertain = (branches) => branches.every((b) => !b.process && b.waiter.certain);

// tree goes down from a lock. It does not call itself: a chain may have thousands of locks. A node's cycle is
// 2 if it has a cycle below it that is certain, 1 if one is possible. Its via is the waiter who has it.
function tree(root, holds, reached) {
  const nodes = [];
  const open = [{ row: root, above: null, via: null, into: [] }];
  while (open.length) {
    const { row, above, via, into } = open.pop();
    if (above && reached.has(row.id)) continue;
    reached.add(row.id);
    const node = { row, above, via, waiters: [], unlisted: unlisted(row), unnamed: unnamed(row), total: unlisted(row) + unnamed(row), cycle: 0 };
    into.push(node);
    nodes.push(node);
    const below = [];
    for (const waiter of waitersOf(row)) {
      const { rows, process } = of(waiter, holds);
      const branch = { waiter, process, locks: [], cycle: null, certain: false };
      for (const next of rows) {
        if (next.id === row.id && process) continue; // another goroutine of the holder's process
        if (!reached.has(next.id)) below.push({ row: next, above: node, via: branch, into: branch.locks });
        else addCycle(node, branch, next);
      }
      node.waiters.push(branch);
    }
    open.push(...below.reverse());
  }
  for (const node of nodes.reverse()) {
    node.total += node.waiters.length;
    if (!node.above) continue;
    node.above.total += node.total;
    node.above.cycle = Math.max(node.above.cycle, node.cycle);
  }
  return nodes.at(-1);
}

// addCycle notes a lock that a waiter's holds lead back to, if it is on the way from the root to the node.
function addCycle(node, branch, row) {
  const way = [branch];
  for (let n = node; n; n = n.above) {
    if (n.row.id === row.id) {
      const certain = isCertain(way);
      if (!branch.certain) [branch.cycle, branch.certain] = [row, certain];
      node.cycle = Math.max(node.cycle, certain ? 2 : 1);
      return;
    }
    way.push(n.via);
  }
}
