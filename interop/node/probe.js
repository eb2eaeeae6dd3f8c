'use strict';

// Reads a command from each line of the input and answers each with a line of JSON, as the
// Java probe does. Commands of one thread follow one another, those of different threads run
// at the same time. It ends with its input, and held locks stay behind.

const readline = require('node:readline');
const timers = require('node:timers/promises');
const { Redisson } = require('node-redisson');

const microseconds = () => Math.round((performance.timeOrigin + performance.now()) * 1000);

// Worker is one thread of a client. It has one object for each lock, and with it an owner of
// its own for each: node-redisson knows the holder by the object.
class Worker {
  constructor(redisson) {
    this.redisson = redisson;
    this.locks = new Map();
    this.last = Promise.resolve();
  }

  take(command) {
    this.last = this.last.then(() => this.run(command));
    return this.last;
  }

  lock(name) {
    if (!this.locks.has(name)) {
      this.locks.set(name, this.redisson.getLock(name));
    }
    return this.locks.get(name);
  }

  async run(command) {
    const answer = { id: command.id, ok: true, value: 0, owner: '', error: '', from: microseconds() };
    this.current = this.lock(command.name);
    answer.owner = ownerOf(this.current);
    try {
      await this.apply(command, answer);
    } catch (e) {
      answer.ok = false;
      answer.error = e.name === 'Error' && 'nodeId' in e ? 'LOST' : String(e.stack);
    }
    answer.at = microseconds();
    return answer;
  }

  async apply(command, answer) {
    const lock = this.current;
    const lease = command.lease > 0 ? command.lease : true; // true: renewed
    switch (command.verb) {
      case 'lock':
        return lock.lock(lease);
      case 'tryLock':
        answer.ok = await lock.tryLock(Math.max(command.wait, 0), lease);
        return;
      case 'unlock':
        return lock.unlock();
      case 'forceUnlock':
        answer.ok = await lock.forceUnlock();
        return;
      case 'holdCount': // node-redisson has none
        answer.value = Number(await this.redisson.redis.hget(command.name, answer.owner));
        return;
      case 'contend':
        return this.contend(command, answer);
    }
    throw new Error(`no verb ${command.verb}`);
  }

  // contend takes the lock again and again, for a section each time, and counts the sections.
  async contend(command, answer) {
    const end = microseconds() + command.span;
    answer.longest = 0;
    for (let asked = microseconds(); asked < end; asked = microseconds()) {
      await this.current.lock(true);
      answer.longest = Math.max(answer.longest, microseconds() - asked);
      answer.value++;
      if (command.each > 0) {
        await timers.setTimeout(command.each / 1000);
      }
      await this.current.unlock();
    }
  }

  // parked says whether the thread waits for a message: it listens once it has subscribed.
  parked() {
    const lock = this.current;
    return lock !== undefined && this.redisson.commandExecutor.eventEmitter.listenerCount(lock.getChannelName()) > 0;
  }
}

function ownerOf(lock) {
  return lock.getClientName(lock.clientId);
}

// Client is a node-redisson client, which has a UUID of its own, and the threads that use it.
class Client {
  constructor(command) {
    const { hostname, port } = new URL(command.address);
    this.redisson = new Redisson({
      redis: { options: { host: hostname, port: Number(port) } },
      lockWatchdogTimeout: BigInt(command.watchdog),
    });
    this.workers = new Map();
  }

  worker(number) {
    if (!this.workers.has(number)) {
      this.workers.set(number, new Worker(this.redisson));
    }
    return this.workers.get(number);
  }
}

const clients = new Map();

async function answer(command) {
  const { id, verb } = command;
  if (verb === 'open') {
    const client = new Client(command);
    clients.set(command.client, client);
    await client.redisson.redis.ping();
    return { id, ok: true, owner: client.redisson.commandExecutor.id };
  }
  const client = clients.get(command.client);
  if (verb === 'close') {
    clients.delete(command.client);
    await client.redisson.quit();
    return { id, ok: true };
  }
  const worker = client.worker(command.thread);
  return verb === 'parked' ? { id, ok: worker.parked() } : worker.take(command);
}

// node-redisson leaves a timer behind for each wait that a message ended. It unsubscribes
// later, also on a connection that is closed by then, and nobody handles that error.
process.on('unhandledRejection', (e) => console.error(e));

readline
  .createInterface({ input: process.stdin })
  .on('line', async (line) => process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`))
  .on('close', () => process.exit(0));
