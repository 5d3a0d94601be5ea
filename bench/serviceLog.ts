/** The service log with the checkpoints of many collections: the cost of an append, a proof and a start. */
import { checkpointEntry } from '../coordinator/serviceLog/entry.js';
import { LogStore } from '../coordinator/serviceLog/logStore.js';
import { systemClock, systemEntropy } from '../shared/clock.js';
import { SERVICE_LOG_ID } from '../shared/log/eventLog.js';
import { LocalLogs } from '../shared/log/segments.js';
import { inFolder } from './folder.js';
import { percentile } from './httpLoad.js';
import { median, type Row } from './row.js';
import { generator } from './vectors.js';

const ENTRIES_PER_FRAME = 500;
const APPENDED = 1_000;
const PROOFS = 2_000;
const ROUNDS = 5;
const MICROSECONDS = 1e3;

export const benchServiceLog = (collections: number): Promise<Row[]> =>
  inFolder((folder) => benchIn(folder, collections));

async function benchIn(folder: string, collections: number): Promise<Row[]> {
  const rowOf = (name: string, value: number): Row => ({
    part: 'proof',
    name: `service log of ${collections} collections: ${name}`,
    value,
    unit: 'ms',
  });
  const logs = await LocalLogs.open({ folder });
  const store = new LogStore(await logs.open(SERVICE_LOG_ID), systemClock, () => 0);
  for (let from = 0; from < collections; from += ENTRIES_PER_FRAME)
    await append(store, from, Math.min(ENTRIES_PER_FRAME, collections - from));
  const openedMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const log = await logs.open(SERVICE_LOG_ID);
    const startedMs = systemClock.monotonicMs();
    await new LogStore(log, systemClock, () => 0).refresh();
    openedMs.push(systemClock.monotonicMs() - startedMs);
    await log.close();
  }
  const provedMs = proofTimes(store, collections);
  const appendedMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    for (let from = 0; from < APPENDED; from += ENTRIES_PER_FRAME) await append(store, from, ENTRIES_PER_FRAME);
    store.tree.root(store.tree.size);
    const { user, system } = process.cpuUsage(before);
    appendedMs.push((user + system) / MICROSECONDS);
  }
  await logs.close();
  return [
    rowOf(`${APPENDED} checkpoints appended, CPU`, median(appendedMs)),
    rowOf('inclusion proof p99', percentile(provedMs, 0.99)),
    rowOf('opened at a start', median(openedMs)),
  ];
}

/** Durations of inclusion proofs, sorted. */
function proofTimes({ tree }: LogStore, collections: number): Float64Array {
  const random = generator(collections);
  const timesMs = new Float64Array(PROOFS);
  for (let i = 0; i < PROOFS; i++) {
    const startedMs = systemClock.monotonicMs();
    tree.inclusion(Math.floor(random() * collections), collections);
    timesMs[i] = systemClock.monotonicMs() - startedMs;
  }
  return timesMs.sort();
}

async function append(store: LogStore, from: number, count: number): Promise<void> {
  const entries = Array.from({ length: count }, (_, i) => entryOf(from + i + 1));
  await store.append(entries, systemClock.nowMs() + 60_000);
}

function entryOf(id: number): Uint8Array {
  const hash = id.toString(16).padStart(64, '0');
  const text = `vouch checkpoint v1\nbench/c${id}/${id}/${hash}\n2\n${hash}\n${hash}\n${hash}\n1700000000000\n`;
  return checkpointEntry({ text, signature: systemEntropy(64), publicKey: systemEntropy(32) });
}
