'use strict';

// Carries out orders to contend for one lock, one after another, like the contestant in Java: it
// reads an order, says when it is ready, waits to be told the moment of the start, and reports.

const readline = require('node:readline');
const timers = require('node:timers/promises');
const { Redisson } = require('node-redisson');

const patience = 1e9; // whoever waits at the end may go on for this long, in nanoseconds

// The machine's clock, in nanoseconds. Node tells it in milliseconds; what is finer comes from the
// timer, which is compared with the clock at the moment at which that moves on.
let offset = 0n;
const now = () => Number(process.hrtime.bigint() + offset);

// setClock compares them several times: whoever is paused in between finds too little.
function setClock() {
  for (let tries = 0; tries < 10; tries++) {
    const before = Date.now();
    let moved = before;
    while (moved === before) {
      moved = Date.now();
    }
    const found = BigInt(moved) * 1000000n - process.hrtime.bigint();
    offset = tries === 0 || found > offset ? found : offset;
  }
}

async function work(lock, order, worker, until, holds) {
  for (let asked = now(); asked < until; asked = now()) {
    const left = Math.max(1, Math.round((until + patience - asked) / 1e6));
    const served = await lock.tryLock(left, true);
    const granted = now();
    if (!served) {
      holds.push({ p: order.Process, w: worker, a: asked, g: granted, r: granted, s: true });
      return;
    }
    if (order.Section >= 1e6) {
      await timers.setTimeout(order.Section / 1e6);
    }
    while (now() < granted + Math.max(order.Section, 2000)) {
      // a shorter section than a millisecond, which a timer cannot wait for
    }
    holds.push({ p: order.Process, w: worker, a: asked, g: granted, r: now() });
    await lock.unlock();
  }
}

async function carryOut(order, ready) {
  const [host, port] = order.Address.split(':');
  const redisson = new Redisson({ redis: { options: { host, port: Number(port) } } });
  const holds = [];
  try {
    await redisson.redis.ping();
    setClock();
    const until = Number(await ready()) + order.WarmUp + order.For;
    const workers = [];
    for (let i = 0; i < order.Workers; i++) {
      workers.push(work(redisson.getLock(`${order.Name}:${i % order.Locks}`), order, i, until, holds)); // an owner is an object
    }
    await Promise.all(workers);
  } finally {
    await redisson.quit();
  }
  return { Holds: holds };
}

const write = (report) => process.stdout.write(`${JSON.stringify(report)}\n`);

// node-redisson unsubscribes late, also on a connection that is closed by then.
process.on('unhandledRejection', (e) => console.error(e));

async function main() {
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    const ready = async () => {
      write({});
      return (await lines.next()).value;
    };
    write(await carryOut(JSON.parse(line.value), ready).catch((e) => ({ Error: String(e.stack) })));
  }
  process.exit(0);
}

main();
