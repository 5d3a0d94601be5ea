/**
 * The rebuild of all indexes of a project: hold the writes of every collection, rebuild each, release all. A client that
 * goes away meanwhile changes nothing of that.
 */
import { randomUUID } from 'node:crypto';
import { VouchError } from '../../shared/errors.js';
import type { DesiredKind } from '../../shared/indexSpec.js';
import { severalAtOnce } from '../../shared/severalAtOnce.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Backend, Collection } from '../backend.js';
import type { Prepared } from '../body/kinds.js';
import type { RebuildRequest, RebuildResponse } from '../contract/collections.js';
import { json, type Reply } from '../http/reply.js';
import { assertIndexing } from './indexes.js';
import { ProjectHold } from './projectHold.js';
import type { HandlerRequest, Services } from './route.js';

/** A shard builds one index at a time: more at once only spares small collections the way there and back. */
const REBUILDS_AT_ONCE = 8;

const KINDS: Readonly<Record<NonNullable<RebuildRequest['index']>, DesiredKind>> = {
  brute: 'brute',
  bruteforce: 'brute',
  hnsw: 'hnsw',
  ivf: 'ivf',
  bq: 'bq',
  auto: 'auto',
  mstg: 'auto',
};

export async function rebuild(
  { caller, body: { index }, envelope }: HandlerRequest<Prepared<'rebuild'>>,
  { backend, config, clock, logger }: Services,
): Promise<Reply> {
  const kind = index ? KINDS[index] : null;
  if (kind !== null && kind !== 'brute') assertIndexing(config);
  const { requestId } = envelope;
  // This request's own deadline; what waits for it keeps the ordinary one.
  const untilDone: Envelope = { requestId, deadlineMs: clock.nowMs() + config.limits.rebuildMs };
  const hold = new ProjectHold(backend, randomUUID(), requestId, clock, logger);
  try {
    const collections = (await backend.list(caller.project, envelope)).filter(isUsable);
    const held = await hold.take(collections, envelope);
    const counts = await severalAtOnce(held, REBUILDS_AT_ONCE, (one) => rebuildOne(backend, one, kind, untilDone));
    const records = counts.reduce((sum, count) => sum + count, 0);
    return json<RebuildResponse>({ ok: true, effective: index ?? 'rebuilt', records });
  } finally {
    await hold.release();
  }
}

/** What is being imported gets its index when it is built for it. */
const isUsable = ({ imported }: Collection): boolean => imported?.finished !== false;

/** Live records; none where the collection was deleted meanwhile. */
async function rebuildOne(
  backend: Backend,
  collection: Collection,
  kind: DesiredKind | null,
  envelope: Envelope,
): Promise<number> {
  try {
    return (await backend.call(collection, { op: 'rebuild', kind }, envelope)).records;
  } catch (error) {
    if (await isGone(backend, collection)) return 0;
    throw error;
  }
}

async function isGone(backend: Backend, { id, project, name }: Collection): Promise<boolean> {
  try {
    return (await backend.find(project, name)).id !== id;
  } catch (error) {
    return error instanceof VouchError && error.code === 'collection_not_found';
  }
}
