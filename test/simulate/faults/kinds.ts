/** Kinds of faults in a simulated cluster. */

import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { bucketStreamName } from '../../../shared/bucket/natsStream.js';
import type { SeededRandom } from '../../soak/random.js';
import type { SimulatedNats, SimulatedService } from '../cluster/simulatedService.js';
import { TAKES_ROOM } from '../disk/disk.js';
import { isLog } from '../nats/jetStream.js';

/** Makes the fault and says what it did; undefined: there was nothing to do it to. A lasting fault ends by itself. */
type Fault = (cluster: SimulatedService, random: SeededRandom) => string | undefined;

/** Shorter or longer than leases, time-outs and elections. */
const anyMs = (random: SeededRandom): number => {
  const kind = random.int(10);
  return Math.floor(random.next() * (kind < 5 ? 1_000 : kind < 9 ? 8_000 : 25_000)) + 20;
};

/** Length of a cut: mostly long enough for another owner to be found, and to serve for a while. */
const cutMs = (random: SeededRandom): number =>
  random.int(3) === 0 ? anyMs(random) : 5_000 + Math.floor(25_000 * random.next());

const OWNERS = bucketStreamName(BUCKETS.owners);
const JUMP_MS = 20_000;
const DRIFT_SHARE = 0.01;
/** Largest delay of an append, in milliseconds. */
const SLOW_MS = 600;
const SHORT_MS = 400;
/** Largest delay of a delivery, in milliseconds: less than most leases last. */
const LATE_MS = 2_500;
/** Mean pauses of a client that makes and deletes collections. */
const CHURN_THINK_MS = [50, 300, 1_000];
/** On a failing disk, one call in this many fails. */
const FAILS_ONE_IN = 8;
/** Largest number of changes of a disk until one is interrupted: few hit a commit, many hit longer work. */
const CHANGES_MAX = [8, 100];
const CHANGING_CALLS = new Set([...TAKES_ROOM, 'unlink', 'rmdir']);

const after = ({ world }: SimulatedService, ms: number, work: () => void): void =>
  void world.at(world.root, ms, 'fault ends', work);

const processOf = ({ processes, shardNames, coordinatorNames }: SimulatedService, random: SeededRandom) =>
  processes.get(random.pick(random.int(3) === 0 ? coordinatorNames : shardNames))!;

const cutBoth = (cluster: SimulatedService, one: string, other: string, random: SeededRandom): void => {
  const ways = random.int(3);
  const heals = [
    ...(ways === 1 ? [] : [cluster.network.cut(one, other)]),
    ...(ways === 2 ? [] : [cluster.network.cut(other, one)]),
  ];
  after(cluster, cutMs(random), () => {
    for (const heal of heals) heal();
  });
};

/** Slows appends for a while. Returns the largest delay of one, in milliseconds. */
function slowLogs({ jetStream }: SimulatedNats, cluster: SimulatedService, ms: number, random: SeededRandom): number {
  jetStream.slowMs = ms;
  after(cluster, cutMs(random), () => {
    jetStream.slowMs = 0;
  });
  return ms;
}

/** Delays the deliveries of such streams by up to `ms`, for `forMs`. */
function makeLate(
  cluster: SimulatedService,
  { jetStream }: SimulatedNats,
  isLate: (stream: string) => boolean,
  ms: number,
  forMs: number,
): void {
  jetStream.late = { isLate, ms };
  after(cluster, forMs, () => {
    jetStream.late = undefined;
  });
}

const ownFiles = (cluster: SimulatedService, shard: string) =>
  [...cluster.disks.of(shard).files()].filter(
    ([path, file]) => /\/(?:snapshots|indexes)\//.test(path) && file.size > 0,
  );

/** Interruptions of the process that appends, while the append is on its way between the servers. */
const APPEND_WAYS = [
  'the leader goes',
  'the leader goes, and the process is killed',
  'the leader goes, and the process is paused',
  'the leader goes, and the process is stopped',
  'the process is killed',
  'the process is paused',
  'the process is stopped',
  'the process hears nothing',
] as const;

function interrupt(cluster: SimulatedService, name: string, way: string, random: SeededRandom): void {
  const process = cluster.processes.get(name);
  const { nats, network, world } = cluster;
  // The process returns before others have noticed, or after.
  const ms = random.int(2) === 0 ? SHORT_MS * random.next() : cutMs(random);
  if (process === undefined || nats === undefined) return;
  if (way.endsWith('killed')) process.kill(ms);
  else if (way.endsWith('stopped')) process.stop(ms);
  else if (way.endsWith('paused') && process.party !== undefined) process.party.pausedUntilMs = world.nowMs + ms;
  else if (way.endsWith('nothing')) {
    const heals = nats.names.map((server) => network.cut(server, name));
    after(cluster, ms, () => {
      for (const heal of heals) heal();
    });
  }
}

/** New kinds go at the end: the plan of a failed seed draws from the kinds that existed then. */
export const FAULTS = {
  'process killed': (cluster, random) => {
    const process = processOf(cluster, random);
    const downMs = anyMs(random);
    process.kill(downMs);
    return `${process.name} is killed, for ${downMs} ms`;
  },
  'process stopped in order': (cluster, random) => {
    const process = processOf(cluster, random);
    if (!process.isRunning) return undefined;
    const downMs = anyMs(random);
    process.stop(downMs);
    return `${process.name} is stopped, for ${downMs} ms`;
  },
  'process paused': (cluster, random) => {
    const { party, name } = processOf(cluster, random);
    const ms = random.int(2) === 0 ? anyMs(random) : cutMs(random) / 2;
    if (party?.alive !== true) return undefined;
    party.pausedUntilMs = cluster.world.nowMs + ms;
    return `${name} is paused, for ${ms} ms`;
  },
  'thread ended': (cluster, random) => {
    const { party, name } = processOf(cluster, random);
    const threads = (party?.children ?? []).filter(({ alive }) => alive);
    if (threads.length === 0) return undefined;
    const thread = random.pick(threads);
    thread.end();
    thread.onFailure?.(new Error('the thread ran out of memory'));
    return `thread ${thread.name} of ${name} ends`;
  },
  'connection broken': (cluster, random) => {
    const { party, name } = processOf(cluster, random);
    if (party?.alive !== true) return undefined;
    if (cluster.nats === undefined) return undefined;
    cluster.nats.broker.disconnect(party);
    return `the connection of ${name} breaks`;
  },
  'process cut off': (cluster, random) => {
    const { name } = processOf(cluster, random);
    if (cluster.nats === undefined) return undefined;
    const { names } = cluster.nats;
    const servers = random.int(2) === 0 ? names : [random.pick(names)];
    for (const server of servers) cutBoth(cluster, name, server, random);
    return `${name} is cut off from ${servers}`;
  },
  'witness away': (cluster, random) => {
    const { witness, coordinatorNames } = cluster;
    if (witness === undefined) return undefined;
    const { process } = witness;
    if (random.int(2) === 0) {
      const downMs = anyMs(random);
      process.kill(downMs);
      return `${process.name} is killed, for ${downMs} ms`;
    }
    const name = random.pick(coordinatorNames);
    cutBoth(cluster, name, process.name, random);
    return `${name} is cut off from ${process.name}`;
  },
  'servers cut': (cluster, random) => {
    const { nats } = cluster;
    if (nats === undefined || nats.names.length === 1) return undefined;
    const one = random.pick(nats.names);
    const others = nats.names.filter((name) => name !== one);
    const from = random.int(2) === 0 ? others : [random.pick(others)];
    for (const other of from) cutBoth(cluster, one, other, random);
    nats.jetStream.reconsider();
    return `${one} is cut off from ${from}`;
  },
  'server killed': (cluster, random) => {
    const { nats } = cluster;
    const up = nats?.names.filter((name) => nats.broker.isUp(name)) ?? [];
    if (nats === undefined || up.length === 0) return undefined;
    const name = random.pick(up);
    nats.stop(name);
    const ms = anyMs(random);
    after(cluster, ms, () => {
      if (!nats.broker.isUp(name)) nats.start(name);
    });
    return `${name} is killed, for ${ms} ms`;
  },
  'leaders change': (cluster, random) => {
    const streams = [...(cluster.nats?.jetStream.streams.values() ?? [])].filter(({ isReplicated }) => isReplicated);
    if (streams.length === 0) return undefined;
    const some = random.int(3) === 0 ? streams : [random.pick(streams)];
    for (const stream of some) stream.elect();
    return `${some.map(({ name }) => name)} ${some.length === 1 ? 'loses its leader' : 'lose their leaders'}`;
  },
  'acknowledgements lost': (cluster, random) => {
    if (cluster.nats === undefined) return undefined;
    const { jetStream } = cluster.nats;
    jetStream.lostAckOneIn = 1 + random.int(4);
    after(cluster, anyMs(random), () => {
      jetStream.lostAckOneIn = 0;
    });
    return `one acknowledgement in ${jetStream.lostAckOneIn} is lost`;
  },
  'append interrupted': (cluster, random) => {
    const { nats } = cluster;
    if (nats === undefined) return undefined;
    const way = random.pick(APPEND_WAYS);
    nats.jetStream.interruptions.set('append', {
      isOf: ({ name }) => isLog(name),
      begin: (stream, from) => {
        cluster.world.note(`${from.name} is interrupted at an append: ${way}`, 'fault');
        if (way.includes('leader')) stream.elect();
        interrupt(cluster, from.name, way, random);
      },
    });
    return `the next append will be interrupted: ${way}`;
  },
  'logs slow': (cluster, random) =>
    cluster.nats &&
    `an append takes up to ${slowLogs(cluster.nats, cluster, 10 + random.int(SLOW_MS), random)} ms longer`,
  'messages lost': (cluster, random) => {
    if (cluster.nats === undefined) return undefined;
    const { broker } = cluster.nats;
    broker.lostOneIn = 2 + random.int(30);
    after(cluster, anyMs(random), () => {
      broker.lostOneIn = 0;
    });
    return `one message in ${broker.lostOneIn} is lost`;
  },
  'clock jumps': (cluster, random) => {
    const { party, name } = processOf(cluster, random);
    if (party === undefined) return undefined;
    const ms = Math.floor(JUMP_MS * (random.next() - 0.5));
    party.aheadMs += ms;
    return `the clock of ${name} jumps by ${ms} ms`;
  },
  'clock drifts': (cluster, random) => {
    const { party, name } = processOf(cluster, random);
    if (party === undefined) return undefined;
    const share = 2 * DRIFT_SHARE * (random.next() - 0.5);
    party.drift(cluster.world.nowMs, share);
    return `the clock of ${name} drifts by ${(100 * share).toFixed(2)} %`;
  },
  'disk fails': (cluster, random) => {
    const name = random.pick(cluster.shardNames);
    const disk = cluster.disks.of(name);
    disk.fail = () => (random.int(FAILS_ONE_IN) === 0 ? 'EIO' : undefined);
    const ms = anyMs(random);
    after(cluster, ms, () => {
      disk.fail = () => undefined;
    });
    return `the disk of ${name} fails, for ${ms} ms`;
  },
  'disk full': (cluster, random) => {
    const name = random.pick(cluster.shardNames);
    const disk = cluster.disks.of(name);
    disk.isFull = true;
    const ms = anyMs(random);
    after(cluster, ms, () => {
      disk.isFull = false;
    });
    return `the disk of ${name} is full, for ${ms} ms`;
  },
  'power lost': (cluster, random) => {
    const process = cluster.processes.get(random.pick(cluster.shardNames))!;
    process.kill(anyMs(random));
    cluster.disks.losePower(process.name);
    return `the machine of ${process.name} loses its power`;
  },
  'power of all lost': (cluster, random) => {
    const { nats, processes, disks, shardNames, witness } = cluster;
    // A second loss could not be distinguished from the first.
    if (nats === undefined || nats.loss !== undefined) return undefined;
    for (const process of processes.values()) process.kill(anyMs(random));
    for (const name of shardNames) disks.losePower(name);
    if (witness !== undefined) disks.losePower(witness.process.name);
    nats.losePower();
    for (const name of nats.names)
      after(cluster, anyMs(random), () => {
        if (!nats.broker.isUp(name)) nats.start(name);
      });
    return 'all machines lose their power';
  },
  'bits rot': (cluster, random) => {
    const name = random.pick(cluster.shardNames);
    const files = ownFiles(cluster, name);
    if (files.length === 0) return undefined;
    const [path, file] = random.pick(files);
    const bit = random.int(8 * file.size);
    file.rot(bit);
    return `bit ${bit} of ${path.replace(/^.*\/(?=[^/]+$)/, '')} on ${name} rots`;
  },
  'deliveries late': (cluster, random) => {
    if (cluster.nats === undefined) return undefined;
    const { jetStream } = cluster.nats;
    const stream = random.pick([
      'all streams',
      ...[...jetStream.streams.keys()].filter((name) => name.startsWith('KV_')),
    ]);
    const ms = 50 + random.int(LATE_MS);
    makeLate(cluster, cluster.nats, (name) => stream === 'all streams' || name === stream, ms, cutMs(random));
    return `what ${stream} deliver comes up to ${ms} ms later`;
  },
  'left while slow': (cluster, random) => {
    const process = cluster.processes.get(random.pick(cluster.shardNames))!;
    if (cluster.nats === undefined || !process.isRunning) return undefined;
    const slowMs = slowLogs(cluster.nats, cluster, SLOW_MS + random.int(LATE_MS), random);
    const ms = anyMs(random);
    process.stop(ms);
    return `${process.name} is stopped, for ${ms} ms, while an append takes up to ${slowMs} ms longer`;
  },
  'hand-over not confirmed': (cluster, random) => {
    const { nats, world } = cluster;
    const process = cluster.processes.get(random.pick(cluster.shardNames))!;
    if (nats === undefined || !process.isRunning) return undefined;
    const lateMs = 50 + random.int(LATE_MS);
    nats.jetStream.interruptions.set('hand-over', {
      isOf: ({ name }, from) => name === OWNERS && from === process.party,
      losesAcknowledgement: true,
      begin: ({ name }) => {
        world.note(`${process.name} is not told of its hand-over`, 'fault');
        makeLate(cluster, nats, (stream) => stream === name, lateMs, 2 * lateMs);
      },
    });
    const ms = anyMs(random);
    process.stop(ms);
    return `${process.name} is stopped, for ${ms} ms, and will not be told of its first hand-over`;
  },
  'messages doubled': (cluster, random) => {
    if (cluster.nats === undefined) return undefined;
    const { broker } = cluster.nats;
    broker.doubledOneIn = 1 + random.int(10);
    broker.againMs = 1 + random.int(LATE_MS);
    after(cluster, anyMs(random), () => {
      broker.doubledOneIn = 0;
    });
    return `one message in ${broker.doubledOneIn} comes again within ${broker.againMs} ms`;
  },
  'collections come and go': ({ churn }, random) => {
    if (churn === undefined) return undefined;
    const clients = 2 + random.int(3);
    const ms = cutMs(random);
    churn.begin(clients, ms, random.pick(CHURN_THINK_MS), random);
    return `${clients} clients make and delete collections, for ${ms} ms`;
  },
  'change of a disk interrupted': (cluster, random) => {
    const { world, disks } = cluster;
    const process = cluster.processes.get(random.pick(cluster.shardNames))!;
    const disk = disks.of(process.name);
    const losesPower = random.int(3) > 0;
    const isOfLog = cluster.nats === undefined && random.int(2) === 0;
    let left = 1 + random.int(random.pick(CHANGES_MAX));
    disk.fail = (syscall, path) => {
      if (!CHANGING_CALLS.has(syscall) || (isOfLog && !path.endsWith('.seg')) || --left > 0) return undefined;
      disk.fail = () => undefined;
      const what = losesPower ? 'the machine loses its power' : 'the process is killed';
      world.note(`${process.name} is interrupted at ${syscall} ${path}: ${what}`, 'fault');
      const downMs = anyMs(random);
      world.at(world.root, 0, 'interruption', () => {
        process.kill(downMs);
        if (losesPower) disks.losePower(process.name);
      });
      return undefined;
    };
    return `a change of ${isOfLog ? 'a log' : 'the disk'} of ${process.name} will be interrupted`;
  },
} as const satisfies Record<string, Fault>;

export type FaultKind = keyof typeof FAULTS;
