/** Proofs of a long log: the cost of making and sending them, and of the data that they need. */
import type { Collection } from '../coordinator/cluster/catalog/collection.js';
import { inclusionOf } from '../coordinator/handlers/proofs.js';
import { systemClock } from '../shared/clock.js';
import { auditMeasurements, benchAuditCost } from './auditCost.js';
import { withDelays } from './delays.js';
import { percentile } from './httpLoad.js';
import { type Engine, envelope, inEngine } from './inProcess.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { type Row, rowAbout } from './row.js';
import { benchServiceLog } from './serviceLog.js';
import { fixedBytes, generator, randomVectors } from './vectors.js';

const PROJECT = 'bench';
/** A small dimension, since only the length of the log matters. */
const DIMENSION = 4;
const BATCH = 10_000;
const PROOFS = 2_000;
/** Share of the records that are deleted before the receipt of an earlier write is requested. */
const DELETED_SHARE = 1 / 10;
const DELETES_AT_ONCE = 4_000;

export const benchProof = (sizes: Sizes): Promise<Row[]> =>
  measured('proof', auditMeasurements(sizes) + 3, async (progress) => {
    const rows = await benchLongLog(sizes.proofEvents, () => progress.advance(1));
    rows.push(...(await benchServiceLog(sizes.loggedCollections)));
    progress.advance(1);
    return [...rows, ...(await benchAuditCost(sizes, progress))];
  });

const benchLongLog = (events: number, onMeasured: () => void): Promise<Row[]> =>
  inEngine(async (engine) => {
    const { collection } = await engine.backend.create(
      PROJECT,
      { name: 'long', dimension: DIMENSION, index: 'brute' },
      envelope(),
    );
    await fill(engine, collection, events);
    const rows = [...(await benchInclusion(engine, collection, events))];
    onMeasured();
    rows.push(...(await benchFarBack(engine, collection, events)));
    onMeasured();
    return rows;
  });

async function fill({ backend }: Engine, collection: Collection, records: number): Promise<void> {
  const count = Math.min(BATCH, records);
  const { base } = randomVectors(DIMENSION, count, 1);
  const vectors = fixedBytes(base, DIMENSION, 0, count);
  const call = { op: 'insertBatch', count, vectors, metadata: null, texts: null, requestIds: null } as const;
  for (let from = 0; from < records; from += count) await backend.call(collection, call, envelope());
}

const rowOf = (events: number) => rowAbout('proof', `log of ${events} events`);

/** The whole call of a coordinator, without NATS and HTTP. */
async function benchInclusion({ backend }: Engine, collection: Collection, events: number): Promise<Row[]> {
  const random = generator(events);
  const latenciesMs = new Float64Array(PROOFS);
  let proofBytes = 0;
  let bodyBytes = 0;
  for (let i = 0; i < PROOFS; i++) {
    const sequence = Math.floor(random() * (events + 1));
    const startedMs = systemClock.monotonicMs();
    const made = await backend.call(collection, { op: 'proofInclusion', sequence, size: null }, envelope());
    const body = JSON.stringify(inclusionOf(made));
    latenciesMs[i] = systemClock.monotonicMs() - startedMs;
    proofBytes = Math.max(proofBytes, made.proof.length);
    bodyBytes = Math.max(bodyBytes, Buffer.byteLength(body));
  }
  latenciesMs.sort();
  const row = rowOf(events);
  return [
    row('inclusion proof p50', percentile(latenciesMs, 0.5), 'ms'),
    row('inclusion proof p99', percentile(latenciesMs, 0.99), 'ms'),
    row('inclusion proof, largest', proofBytes, 'bytes'),
    row('inclusion proof as JSON, largest', bodyBytes, 'bytes'),
  ];
}

/** The receipt of the newest insert, after many deletions of older records. */
async function benchFarBack({ backend }: Engine, collection: Collection, events: number): Promise<Row[]> {
  const deletions = Math.floor(events * DELETED_SHARE);
  for (let from = 0; from < deletions; from += DELETES_AT_ONCE) {
    const ids = Array.from({ length: Math.min(DELETES_AT_ONCE, deletions - from) }, (_, i) => (from + i) * 10 + 1);
    await Promise.all(ids.map((id) => backend.call(collection, { op: 'delete', id }, envelope())));
  }
  const { ms, maxMs } = await withDelays(() =>
    backend.call(collection, { op: 'proofReceipt', sequence: events }, envelope()),
  );
  const row = rowOf(events);
  const what = `receipt of ${deletions} deletions back`;
  return [row(what, ms, 'ms'), row(`${what}: event-loop delay max`, maxMs, 'ms')];
}
