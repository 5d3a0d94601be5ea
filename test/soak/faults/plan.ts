/** The possible faults of a cluster, and how each is made. Targets and durations come from seeded numbers. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Cut } from '../cluster/natsWay.js';
import type { SoakCluster } from '../cluster/soakCluster.js';
import type { SeededRandom } from '../random.js';
import { damageSnapshots } from './damageSnapshots.js';
import type { Fault, FaultKind } from './fault.js';
import { streamLeader } from './streamLeader.js';

export interface Timing {
  readonly leaseMs: number;
  readonly failoverMs: number;
}

type Draw = (draws: Draws) => Fault;

/** Sources from which a fault is drawn. */
interface Draws {
  readonly cluster: SoakCluster;
  readonly random: SeededRandom;
  readonly timing: Timing;
}

const ms = (value: number): string => (value < 1_000 ? `${value} ms` : `${(value / 1_000).toFixed(1)} s`);

const RENEWAL_MS = 300;

const between = (random: SeededRandom, from: number, to: number): number => from + random.int(Math.max(1, to - from));

const anyShard = ({ cluster, random }: Draws): string => random.pick(cluster.shardNames);
const anyCoordinator = ({ cluster, random }: Draws): string => random.pick([...cluster.coordinators.keys()]);

const killed =
  (kind: FaultKind, who: (draws: Draws) => string, awayMs: (draws: Draws) => number): Draw =>
  (draws) => {
    const { cluster } = draws;
    const name = who(draws);
    const away = awayMs(draws);
    return {
      kind,
      text: `kill -9 ${name}, started again after ${ms(away)}`,
      run: async () => {
        await cluster.process(name).kill();
        await wait(away);
        await cluster.run(name);
      },
    };
  };

const frozen =
  (kind: FaultKind, who: (draws: Draws) => string, forMs: (draws: Draws) => number): Draw =>
  (draws) => {
    const name = who(draws);
    const time = forMs(draws);
    return {
      kind,
      text: `SIGSTOP ${name} for ${ms(time)}`,
      run: async () => {
        draws.cluster.process(name).freeze();
        await wait(time);
        draws.cluster.process(name).thaw();
      },
    };
  };

const cutOff =
  (kind: FaultKind, who: (draws: Draws) => string, how: (random: SeededRandom) => Cut): Draw =>
  (draws) => {
    const { cluster, random, timing } = draws;
    const name = who(draws);
    const cut = how(random);
    const time = between(random, 300, timing.failoverMs + 4_000);
    return {
      kind,
      text: `${name} cut off from NATS (${cut}) for ${ms(time)}`,
      run: async () => {
        cluster.way(name).cut(cut);
        await wait(time);
        cluster.way(name).heal();
      },
    };
  };

const restarted =
  (kind: FaultKind, who: (draws: Draws) => string): Draw =>
  (draws) => {
    const { cluster, random } = draws;
    const name = who(draws);
    const away = random.int(3_000);
    return {
      kind,
      text: `SIGTERM ${name}, started again ${ms(away)} after its end`,
      run: async () => {
        await cluster.stop(name);
        await wait(away);
        await cluster.run(name);
      },
    };
  };

const joins: Draw = ({ cluster, random }) => {
  const name = `s${cluster.shape.shards + 1}`;
  const stays = between(random, 3_000, 10_000);
  return {
    kind: 'shard joins and leaves',
    text: `${name} joins, and gets SIGTERM after ${ms(stays)}`,
    run: async () => {
      await cluster.addShard(name);
      await wait(stays);
      await cluster.stop(name);
    },
  };
};

const snapshotDamaged: Draw = (draws) => {
  const { cluster, random } = draws;
  const name = anyShard(draws);
  return {
    kind: 'snapshot damaged',
    text: `kill -9 ${name}, a byte of each of its newest snapshots altered, started again`,
    run: async () => {
      await cluster.process(name).kill();
      await damageSnapshots(cluster.dataDir, name, random);
      await cluster.run(name);
    },
  };
};

const leaderKilled: Draw = ({ cluster, random }) => {
  const stream = `VOUCH_LOG_${random.int(4)}`;
  const fallback = random.pick(cluster.serverNames);
  const away = random.int(4_000);
  return {
    kind: 'NATS leader killed',
    text: `kill -9 of the server that leads ${stream}, started again after ${ms(away)}`,
    run: async () => {
      const name = (await streamLeader(cluster, stream)) ?? fallback;
      await cluster.process(name).kill();
      await wait(away);
      await cluster.run(name);
    },
  };
};

const twoServersKilled: Draw = ({ cluster, random }) => {
  const spared = random.pick(cluster.serverNames);
  const names = cluster.serverNames.filter((name) => name !== spared).slice(0, 2);
  const away = random.int(4_000);
  return {
    kind: 'two NATS servers killed',
    text: `kill -9 ${names.join(' and ')}, started again after ${ms(away)}`,
    run: async () => {
      await Promise.all(names.map((name) => cluster.process(name).kill()));
      await wait(away);
      await Promise.all(names.map((name) => cluster.run(name)));
    },
  };
};

/** Certificates show and are checked only at a new connection, so one process is cut off for that. */
const certificatesRenewed: Draw = (draws) => {
  const { cluster } = draws;
  const name = anyShard(draws);
  return {
    kind: 'certificates renewed',
    text: `new certificates of the NATS servers, which are restarted in turn, and of the processes; ${name} connects anew`,
    run: async () => {
      await cluster.renewCertificates();
      cluster.way(name).cut('refused');
      await wait(RENEWAL_MS);
      cluster.way(name).heal();
    },
  };
};

const anyServer = ({ cluster, random }: Draws): string => random.pick(cluster.serverNames);
const soon = ({ random }: Draws): number => random.int(1_500);

/** Each is drawn as often as it is listed. */
const SHARD_FAULTS: readonly Draw[] = [
  killed('shard killed', anyShard, soon),
  killed('shard killed', anyShard, soon),
  killed('shard killed, away for long', anyShard, ({ random, timing }) =>
    between(random, timing.failoverMs, timing.failoverMs + 5_000),
  ),
  frozen('shard frozen, shorter than its lease', anyShard, ({ random, timing }) =>
    between(random, 100, timing.leaseMs),
  ),
  frozen('shard frozen, longer than its lease', anyShard, ({ random, timing }) =>
    between(random, timing.leaseMs, timing.failoverMs),
  ),
  frozen('shard frozen, its collections given away', anyShard, ({ random, timing }) =>
    between(random, timing.failoverMs + 500, timing.failoverMs + 6_000),
  ),
  restarted('shard leaves and comes back', anyShard),
  cutOff('shard cut off from NATS', anyShard, (random) => random.pick(['refused', 'silent'] as const)),
  cutOff('shard hears nothing from NATS', anyShard, () => 'answers lost'),
  joins,
  snapshotDamaged,
];

const COORDINATOR_FAULTS: readonly Draw[] = [
  killed('coordinator killed', anyCoordinator, soon),
  frozen('coordinator frozen', anyCoordinator, ({ random }) => between(random, 200, 6_000)),
  restarted('coordinator restarted', anyCoordinator),
  cutOff('coordinator cut off from NATS', anyCoordinator, (random) => random.pick(['refused', 'silent'] as const)),
];

const SERVER_FAULTS: readonly Draw[] = [
  killed('NATS server killed', anyServer, ({ random }) => random.int(4_000)),
  frozen('NATS server frozen', anyServer, ({ random }) => between(random, 200, 5_000)),
];

const SEVERAL_SERVER_FAULTS: readonly Draw[] = [...SERVER_FAULTS, leaderKilled, leaderKilled, twoServersKilled];

/** One fault in this many consists of two in different parts. */
const DOUBLE_ONE_IN = 8;

/** The next fault. `only`: limits it to kinds whose name contains this text. */
export function drawFault(draws: Draws, only: string | undefined): Fault {
  const { cluster, random } = draws;
  const ofServers = cluster.shape.servers > 2 ? SEVERAL_SERVER_FAULTS : SERVER_FAULTS;
  const servers = cluster.hasTls ? [...ofServers, certificatesRenewed] : ofServers;
  // Half of all faults hit shards, which have the most ways to fail.
  const groups = [SHARD_FAULTS, SHARD_FAULTS, COORDINATOR_FAULTS, servers] as const;
  for (;;) {
    const first = random.int(groups.length);
    const fault = random.pick(groups[first]!)(draws);
    if (only !== undefined && !fault.kind.includes(only)) continue;
    if (only !== undefined || random.int(DOUBLE_ONE_IN) !== 0) return fault;
    const others = groups.filter((group) => group !== groups[first]);
    return both(fault, random.pick(random.pick(others))(draws));
  }
}

const both = (one: Fault, other: Fault): Fault => ({
  kind: 'several faults at once',
  text: `${one.text}; and ${other.text}`,
  run: async () => {
    await Promise.all([one.run(), other.run()]);
  },
});
