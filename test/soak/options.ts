/** Reads the options of a soak from its command line. */

import { durationMs, parseFlags, UsageError } from '../../scripts/terminal/commandLine.js';
import { systemEntropy } from '../../shared/clock.js';

export interface SoakOptions {
  /** Duration of the faults; starting and checking come on top. */
  readonly durationMs: number;
  readonly seed: number;
  readonly servers: number;
  readonly shards: number;
  readonly coordinators: number;
  readonly collections: number;
  readonly clients: number;
  /** Calls per second of all clients together if answers took no time. */
  readonly rate: number;
  /** Followers per collection; 0 also means no eventual searches. */
  readonly followers: number;
  /** Limits faults to kinds whose name contains this text; undefined: all. */
  readonly only: string | undefined;
  /** Longest time after a fault until everything is served. */
  readonly settleMs: number;
  readonly placement: { readonly heartbeatMs: number; readonly leaseMs: number; readonly failoverMs: number };
  /** Parent of the folder with the data, the processes' logs and the history; undefined: the temporary folder. */
  readonly folder: string | undefined;
  /** Keeps the folder even without a violation. */
  readonly keep: boolean;
}

export const USAGE = `npm run soak -- [options]
  --minutes N       duration of the faults (5)
  --seed N          determines calls and faults (random, printed)
  --nats N          NATS servers, 1 or 3 (3)
  --shards N        shards (3)
  --coordinators N  coordinators (2)
  --collections N   collections (12)
  --clients N       concurrent clients (24)
  --rate N          most calls per second of all clients together (200)
  --followers N     followers per collection; 0: no eventual searches either (1)
  --only TEXT       only faults whose kind contains TEXT, such as "shard killed"
  --folder PATH     parent of the folder with data, logs and history (the temporary folder)
  --keep            keeps the folder even if nothing was wrong`;

/** Throws a UsageError. */
export function readOptions(args: readonly string[]): SoakOptions {
  const { values } = parseFlags({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string' },
      nats: { type: 'string', default: '3' },
      shards: { type: 'string', default: '3' },
      coordinators: { type: 'string', default: '2' },
      collections: { type: 'string', default: '12' },
      clients: { type: 'string', default: '24' },
      rate: { type: 'string', default: '200' },
      followers: { type: 'string', default: '1' },
      only: { type: 'string' },
      folder: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  });
  const count = (name: keyof typeof values, least: number): number => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < least)
      throw new UsageError(`--${name} is ${values[name]}; allowed is a whole number, at least ${least}`);
    return value;
  };
  return {
    durationMs: durationMs('--minutes', values.minutes, 'minutes'),
    seed: values.seed === undefined ? Buffer.from(systemEntropy(4)).readUInt32LE() : count('seed', 0),
    servers: count('nats', 1),
    shards: count('shards', 1),
    coordinators: count('coordinators', 1),
    collections: count('collections', 1),
    clients: count('clients', 1),
    rate: count('rate', 1),
    followers: count('followers', 0),
    only: values.only,
    settleMs: 60_000,
    placement: { heartbeatMs: 500, leaseMs: 2_000, failoverMs: 3_000 },
    folder: values.folder,
    keep: values.keep,
  };
}
