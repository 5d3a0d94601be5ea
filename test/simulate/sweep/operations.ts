/** The swept operations, and how each is repeated after an interruption. */
import { INDEX_KINDS } from '../../../shared/model/indexKinds.js';
import { NO_ONE_COLLECTION } from '../../soak/history/asked.js';
import type { IndexKind } from '../../soak/history/indexes.js';
import { importAgain } from './importing.js';
import { COLLECTION, DIMENSION, type Stage } from './stage.js';

export type SweepMode = 'standalone' | 'cluster';

export interface SweptOperation {
  readonly modes: readonly SweepMode[];
  /** Steps count until this many milliseconds after the operation. */
  readonly settleMs: number;
  /** Process whose steps are counted: the first or second machine with data, or the tool. */
  readonly victim: 'first' | 'second' | 'tool';
  /** Index of the collection, which then has rows; without an index it has none. */
  readonly index?: IndexKind;
  readonly shards?: number;
  /** Size of a log file in bytes; without it, the product's default. */
  readonly segmentBytes?: number;
  /** Runs before the fault. */
  prepare?(stage: Stage): Promise<void>;
  run(stage: Stage): Promise<void>;
  /** Runs after the fault. Throws if the operation cannot be completed. */
  complete?(stage: Stage): Promise<void>;
}

const BOTH: readonly SweepMode[] = ['standalone', 'cluster'];
const BUILT_WITHIN_MS = 8_000;
const SHRED_WITHIN_MS = 2_000;
const LOOK_AGAIN_MS = 100;
/** More rows than trigger a snapshot, and than fit a log file. */
const BATCH_ROWS = 150;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const keyOf = ({ number }: Stage): string => number.toString(16).padStart(32, '0');

const insertMany = async ({ ask }: Stage): Promise<void> => {
  const rows = Array.from({ length: BATCH_ROWS }, () => ask.draws.row(DIMENSION));
  await ask.call({ op: 'insertBatch', collection: COLLECTION, rows });
};

const keepSecret = async (stage: Stage): Promise<void> => {
  const secret = stage.ask.draws.secret(keyOf(stage));
  const { outcome } = await stage.ask.call({ op: 'insertEncrypted', collection: COLLECTION, secret });
  if (outcome.kind !== 'ok') throw new Error(`a secret could not be stored: ${JSON.stringify(outcome)}`);
};

/** Whether the answer says that the key is gone. */
const shred = async (stage: Stage): Promise<boolean> =>
  (await stage.ask.call({ op: 'shred', collection: NO_ONE_COLLECTION, keyId: keyOf(stage) })).outcome.kind === 'ok';

/** Changes the kind of a collection's index. */
const swap = (from: IndexKind, kind: IndexKind): SweptOperation => ({
  ...{ modes: BOTH, settleMs: 3_000, victim: 'first', index: from },
  run: async ({ ask }) => {
    await ask.call({ op: 'configureIndex', collection: COLLECTION, kind });
    for (let waitedMs = 0; waitedMs < BUILT_WITHIN_MS; waitedMs += LOOK_AGAIN_MS) {
      const call = await ask.call({ op: 'indexState', collection: COLLECTION });
      if (call.op !== 'indexState' || call.outcome.kind !== 'ok') return;
      if (call.outcome.answer.active === kind && call.outcome.answer.status === 'active') return;
      await wait(LOOK_AGAIN_MS);
    }
  },
});

export const OPERATIONS: Readonly<Record<string, SweptOperation>> = {
  commit: {
    ...{ modes: BOTH, settleMs: 100, victim: 'first' },
    run: async ({ ask }) =>
      void (await ask.call({ op: 'insert', collection: COLLECTION, row: ask.draws.row(DIMENSION) })),
  },
  roll: { ...{ modes: ['standalone'], settleMs: 100, victim: 'first', segmentBytes: 2_048 }, run: insertMany },
  snapshot: { ...{ modes: BOTH, settleMs: 1_000, victim: 'first' }, run: insertMany },
  ...Object.fromEntries(
    INDEX_KINDS.map((kind, i) => [`index swap to ${kind}`, swap(INDEX_KINDS.at(i - 1)!, kind)] as const),
  ),
  shred: {
    ...{ modes: BOTH, settleMs: 500, victim: 'first' },
    prepare: keepSecret,
    run: async (stage) => void (await shred(stage)),
    complete: async (stage) => {
      for (let waitedMs = 0; !(await shred(stage)); waitedMs += LOOK_AGAIN_MS) {
        if (waitedMs > SHRED_WITHIN_MS) throw new Error('a key cannot be shredded');
        await wait(LOOK_AGAIN_MS);
      }
    },
  },
  rotation: {
    ...{ modes: BOTH, settleMs: 100, victim: 'tool' },
    prepare: keepSecret,
    // If it is killed or refused, the same command continues it.
    run: ({ rotate }) => rotate().catch(() => undefined),
    complete: ({ rotate }) => rotate(),
  },
  import: {
    ...{ modes: BOTH, settleMs: 200, victim: 'first' },
    run: (stage) => importAgain(stage).catch(() => undefined),
    complete: importAgain,
  },
  start: {
    ...{ modes: BOTH, settleMs: 2_000, victim: 'first' },
    prepare: insertMany,
    run: ({ restart }) => restart('kill'),
  },
  'move away': {
    ...{ modes: ['cluster'], settleMs: 2_000, victim: 'first', shards: 2 },
    run: ({ restart }) => restart('stop'),
  },
  'move in': {
    ...{ modes: ['cluster'], settleMs: 2_000, victim: 'second', shards: 2 },
    run: ({ restart }) => restart('stop'),
  },
};
