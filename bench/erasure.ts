/** The cost of vault keys: inserts under existing keys, in the engine and over HTTP, and the opening of a collection with such records. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterBackend } from '../coordinator/cluster/clusterBackend.js';
import type { Progress } from '../scripts/terminal/progress.js';
import { systemClock } from '../shared/clock.js';
import { inFolder } from './folder.js';
import { Engine, envelope } from './inProcess.js';
import { INSERT_MEASUREMENTS, insertsUnderKeys } from './insertsUnderKeys.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { type Row, rowAbout } from './row.js';
import type { Mode } from './startedService.js';
import { DIMENSION, KEYS, keyOf } from './underKeys.js';
import { fixedBytes, randomVectors, setText, type VectorSet } from './vectors.js';

const PROJECT = 'bench';
const BATCH = 1_000;
/** Snapshot settings: so large that no snapshot is made, and so small that one is made at once. */
const NEVER = { everyBytes: 2 ** 31, keep: 1 };
const AT_ONCE = { everyBytes: 1, keep: 1 };
const LOOK_EVERY_MS = 20;

const MODES: readonly Mode[] = ['standalone', 'cluster'];

/** `plain`: without keys. */
const KINDS = ['plain', 'plain with a snapshot', 'under keys', 'under keys with a snapshot'] as const;
type Kind = (typeof KINDS)[number];

export const benchErasure = (sizes: Sizes): Promise<Row[]> =>
  measured('erasure', 2 * KINDS.length + MODES.length * INSERT_MEASUREMENTS, async (progress) => {
    const rows = await inEngines(sizes, progress);
    for (const mode of MODES) rows.push(...(await insertsUnderKeys(mode, sizes, progress)));
    return rows;
  });

async function inEngines({ restartRecords }: Sizes, progress: Progress): Promise<Row[]> {
  const set = randomVectors(DIMENSION, restartRecords);
  const row = rowAbout('erasure', `${setText(set)}, ${KEYS} keys`);
  const rows: Row[] = [];
  const spent = new Map<string, number>();
  const note = (kind: Kind, what: string, seconds: number): void => {
    spent.set(`${what} ${kind}`, seconds);
    rows.push(row(`${what}, ${kind}: processor time`, seconds, 's'));
    progress.advance(1);
  };
  for (const kind of KINDS)
    await inFolder(async (dataDir) => {
      note(kind, 'inserts', await filled(dataDir, set, kind));
      if (kind.endsWith('with a snapshot')) await snapshotted(dataDir);
      note(kind, 'opening', await opened(dataDir));
    });
  const ratio = (what: string, of: Kind, to: Kind): Row =>
    row(`${what}, ${of} ÷ ${to}`, spent.get(`${what} ${of}`)! / spent.get(`${what} ${to}`)!, '');
  return [
    ...rows,
    ratio('inserts', 'under keys', 'plain'),
    ratio('opening', 'under keys', 'plain'),
    ratio('opening', 'under keys with a snapshot', 'plain with a snapshot'),
  ];
}

/** Inserts the set in batches, once its keys exist. Returns the processor time of the inserts. */
const filled = (dataDir: string, set: VectorSet, kind: Kind): Promise<number> =>
  Engine.run(
    dataDir,
    async ({ backend }) => {
      const wanted = { name: 'measured', dimension: DIMENSION, index: 'brute' } as const;
      const { collection } = await backend.create(PROJECT, wanted, envelope());
      const insert = (from: number, to: number) =>
        backend.call(collection, { op: 'insertBatch', ...records(set, from, to, kind) }, envelope());
      for (let from = 0; from < KEYS; from += BATCH) await insert(from, Math.min(from + BATCH, set.count));
      const seconds = await spentBy(async () => {
        for (let from = KEYS; from < set.count; from += BATCH) await insert(from, Math.min(from + BATCH, set.count));
      });
      return seconds;
    },
    systemClock,
    NEVER,
  );

function records({ base, dimension }: VectorSet, from: number, to: number, kind: Kind) {
  const count = to - from;
  const vectors = fixedBytes(base, dimension, from, to);
  const keyIds = Array.from({ length: count }, (_, i) => keyOf(from + i));
  return {
    count,
    vectors,
    metadata: null,
    texts: null,
    requestIds: null,
    ...(kind.startsWith('under keys') && { keyIds }),
  };
}

/** Makes a snapshot. */
const snapshotted = (dataDir: string): Promise<void> =>
  Engine.run(
    dataDir,
    async ({ backend }) => {
      await describe(backend);
      for (;;) {
        await delay(LOOK_EVERY_MS);
        const names = await readdir(join(dataDir, 'snapshots'), { recursive: true });
        if (names.some((name) => name.endsWith('.snapshot'))) return;
      }
    },
    systemClock,
    AT_ONCE,
  );

const opened = (dataDir: string): Promise<number> =>
  Engine.run(dataDir, async ({ backend }) => spentBy(() => describe(backend)), systemClock, NEVER);

const describe = async (backend: ClusterBackend): Promise<unknown> =>
  backend.call(await backend.find(PROJECT, 'measured'), { op: 'describe' }, envelope());

/** Returns the seconds of processor time of all threads during the work. */
async function spentBy(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
