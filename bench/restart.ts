/** A restart: a collection opened from its log, and from its snapshot, compared with only reading the snapshot's file. */

import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../shared/clock.js';
import { withDelays } from './delays.js';
import { inFolder } from './folder.js';
import { Engine, envelope } from './inProcess.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { type Row, rowAbout } from './row.js';
import { randomVectors, setText, type VectorSet } from './vectors.js';

const PROJECT = 'bench';
const COLLECTION = 'restarted';
const DIMENSION = 128;
/** Snapshot settings: so large that no snapshot is made, and so small that one is made at once. */
const NEVER = { everyBytes: 2 ** 31, keep: 1 };
const AT_ONCE = { everyBytes: 1, keep: 1 };
const PIECE_BYTES = 1 << 20;
const LOOK_EVERY_MS = 20;

export const benchRestart = ({ restartRecords }: Sizes): Promise<Row[]> =>
  measured('restart', 4, (progress) =>
    inFolder(async (dataDir) => {
      const set = randomVectors(DIMENSION, restartRecords);
      await fill(dataDir, set);
      progress.advance(1);
      const rows = await opened(dataDir, set, 'from its log');
      progress.advance(1);
      const file = await snapshot(dataDir, set, rows);
      progress.advance(1);
      rows.push(...(await opened(dataDir, set, 'from its snapshot')));
      rows.push(rowOf(set)('plain read of the snapshot', await secondsToRead(file), 's'));
      progress.advance(1);
      return rows;
    }),
  );

const rowOf = (set: VectorSet) => rowAbout('restart', setText(set));

const fill = (dataDir: string, set: VectorSet): Promise<number> =>
  Engine.run(
    dataDir,
    async (engine) => {
      const wanted = { name: COLLECTION, dimension: set.dimension, index: 'brute' } as const;
      return engine.ingest((await engine.backend.create(PROJECT, wanted, envelope())).collection, set);
    },
    systemClock,
    NEVER,
  );

/** Measures the first call to the collection, which opens it. */
const opened = (dataDir: string, set: VectorSet, how: string): Promise<Row[]> =>
  Engine.run(
    dataDir,
    async ({ backend }) => {
      const collection = await backend.find(PROJECT, COLLECTION);
      const { ms, p99Ms, maxMs } = await withDelays(() => backend.call(collection, { op: 'describe' }, envelope()));
      const row = rowOf(set);
      return [
        row(`opened ${how}`, ms / 1000, 's'),
        row(`opened ${how}: event-loop delay p99`, p99Ms, 'ms'),
        row(`opened ${how}: event-loop delay max`, maxMs, 'ms'),
      ];
    },
    systemClock,
    NEVER,
  );

/** Makes a snapshot; returns its path, and adds the cost to `rows`. */
const snapshot = (dataDir: string, set: VectorSet, rows: Row[]): Promise<string> =>
  Engine.run(
    dataDir,
    async ({ backend }) => {
      await backend.call(await backend.find(PROJECT, COLLECTION), { op: 'describe' }, envelope());
      const {
        result: path,
        ms,
        maxMs,
      } = await withDelays(async () => {
        for (;;) {
          await delay(LOOK_EVERY_MS);
          const found = await snapshotIn(dataDir);
          if (found !== undefined) return found;
        }
      });
      const { size } = await stat(path);
      const row = rowOf(set);
      rows.push(
        row('snapshot made from the log', ms / 1000, 's'),
        row('snapshot made: event-loop delay max', maxMs, 'ms'),
        row('snapshot', size / 1e6, 'MB'),
      );
      return path;
    },
    systemClock,
    AT_ONCE,
  );

async function snapshotIn(dataDir: string): Promise<string | undefined> {
  const names = await readdir(join(dataDir, 'snapshots'), { recursive: true });
  const name = names.find((each) => each.endsWith('.snapshot'));
  return name && join(dataDir, 'snapshots', name);
}

async function secondsToRead(path: string): Promise<number> {
  const file = await open(path, 'r');
  const piece = new Uint8Array(PIECE_BYTES);
  const startedMs = systemClock.monotonicMs();
  while ((await file.read(piece)).bytesRead > 0);
  await file.close();
  return (systemClock.monotonicMs() - startedMs) / 1000;
}
