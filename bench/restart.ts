/** A restart: a collection opened from its log, and from its snapshot, against reading the snapshot's file and no more. */

import { mkdtemp, open, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../shared/clock.js';
import { deleteTree } from '../shared/files/durable.js';
import { Engine, envelope } from './inProcess.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import type { Row } from './row.js';
import { randomVectors, type VectorSet } from './vectors.js';

const PROJECT = 'bench';
const COLLECTION = 'restarted';
const DIMENSION = 128;
/** So large that none is made, and so small that one is made of whatever is there. */
const NEVER = { everyBytes: 2 ** 31, keep: 1 };
const AT_ONCE = { everyBytes: 1, keep: 1 };
const PIECE_BYTES = 1 << 20;
const LOOK_EVERY_MS = 20;
const NANOSECONDS = 1e6;

export const benchRestart = ({ restartRecords }: Sizes): Promise<Row[]> =>
  measured('restart', 4, async (progress) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'vouch-bench-'));
    const set = randomVectors(DIMENSION, restartRecords);
    try {
      await fill(dataDir, set);
      progress.advance(1);
      const rows = await opened(dataDir, set, 'from its log');
      progress.advance(1);
      const file = await snapshot(dataDir, set, rows);
      progress.advance(1);
      rows.push(...(await opened(dataDir, set, 'from its snapshot')));
      rows.push(rowOf(set, 'plain read of the snapshot', await secondsToRead(file), 's'));
      progress.advance(1);
      return rows;
    } finally {
      await deleteTree(dataDir);
    }
  });

const rowOf = ({ count, dimension }: VectorSet, name: string, value: number, unit: string): Row => {
  return { part: 'restart', name: `${name}, random ${count} × ${dimension}`, value, unit };
};

async function fill(dataDir: string, set: VectorSet): Promise<void> {
  const engine = await Engine.start(dataDir, systemClock, NEVER);
  const wanted = { name: COLLECTION, dimension: set.dimension, index: 'brute' } as const;
  await engine.ingest((await engine.backend.create(PROJECT, wanted, envelope())).collection, set);
  await engine.stop();
}

/** A collection is opened by the first call that needs it. */
async function opened(dataDir: string, set: VectorSet, how: string): Promise<Row[]> {
  const engine = await Engine.start(dataDir, systemClock, NEVER);
  const delays = monitorEventLoopDelay({ resolution: 1 });
  try {
    const collection = await engine.backend.find(PROJECT, COLLECTION);
    delays.enable();
    const startedMs = systemClock.monotonicMs();
    await engine.backend.call(collection, { op: 'describe' }, envelope());
    const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
    delays.disable();
    return [
      rowOf(set, `opened ${how}`, seconds, 's'),
      rowOf(set, `opened ${how}: event-loop delay p99`, delays.percentile(99) / NANOSECONDS, 'ms'),
      rowOf(set, `opened ${how}: event-loop delay max`, delays.max / NANOSECONDS, 'ms'),
    ];
  } finally {
    await engine.stop();
  }
}

/** Returns its path; adds what it cost to `rows`. */
async function snapshot(dataDir: string, set: VectorSet, rows: Row[]): Promise<string> {
  const engine = await Engine.start(dataDir, systemClock, AT_ONCE);
  const delays = monitorEventLoopDelay({ resolution: 1 });
  try {
    await engine.backend.call(await engine.backend.find(PROJECT, COLLECTION), { op: 'describe' }, envelope());
    delays.enable();
    const startedMs = systemClock.monotonicMs();
    let path: string | undefined;
    while (path === undefined) {
      await delay(LOOK_EVERY_MS);
      path = await snapshotIn(dataDir);
    }
    const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
    delays.disable();
    const file = await open(path, 'r');
    const { size } = await file.stat();
    await file.close();
    rows.push(
      rowOf(set, 'snapshot made from the log', seconds, 's'),
      rowOf(set, 'snapshot made: event-loop delay max', delays.max / NANOSECONDS, 'ms'),
      rowOf(set, 'snapshot', size / 1e6, 'MB'),
    );
    return path;
  } finally {
    await engine.stop();
  }
}

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
