/**
 * The rebuild of all indexes of a project: take a hold on the writes of every collection, rebuild each, release all. It
 * continues if the client goes away.
 */

import { systemId } from '../../shared/clock.js';
import { isCollectionNotFound } from '../../shared/errors/errors.js';
import type { DesiredKind } from '../../shared/model/indexSpec.js';
import { isImporting } from '../../shared/registry/catalogEntry.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Prepared } from '../body/kinds.js';
import type { Collection } from '../cluster/catalog/collection.js';
import { isDeletion } from '../cluster/catalog/deleted.js';
import type { Backend } from '../cluster/clusterBackend.js';
import type { RebuildRequest, RebuildResponse } from '../contract/collections.js';
import type { HandlerRequest } from '../http/handlerRequest.js';
import { json, type Reply } from '../http/reply.js';
import { ProjectHold } from './projectHold.js';

/** Limit of rebuild calls in flight. A shard runs one build at a time, projects in turns: further calls only hide the round trip. */
const REBUILDS_AT_ONCE = 8;

/** The kind by the name in a request, which may be a name of another system. */
export function kindOf(name: NonNullable<RebuildRequest['index']>): DesiredKind {
  if (name === 'bruteforce') return 'brute';
  return name === 'mstg' ? 'auto' : name;
}

export async function rebuild({
  body: { index },
  caller,
  services,
  envelope,
}: HandlerRequest<Prepared<'rebuild'>>): Promise<Reply> {
  const { backend, config, clock, logger } = services;
  const kind = index ? kindOf(index) : null;
  const { requestId } = envelope;
  // The rebuild has a longer deadline of its own; the writes that wait for it keep theirs.
  const rebuildEnvelope: Envelope = { requestId, deadlineMs: clock.nowMs() + config.limits.rebuildMs };
  const hold = new ProjectHold(backend, { clock, logger }, { token: systemId(), requestId });
  try {
    // A collection that is being imported gets its index when the import ends.
    const collections = (await backend.list(caller.project, envelope)).filter((one) => !isImporting(one));
    const held = await hold.take(collections, envelope);
    const counts = await mapConcurrent(held, REBUILDS_AT_ONCE, (one) =>
      rebuildOne(backend, one, kind, rebuildEnvelope),
    );
    const records = counts.reduce((sum, count) => sum + count, 0);
    return json<RebuildResponse>({ ok: true, effective: index ?? 'rebuilt', records });
  } finally {
    await hold.release();
  }
}

/** The number of live records; 0 if the collection was deleted meanwhile. */
async function rebuildOne(
  backend: Backend,
  collection: Collection,
  kind: DesiredKind | null,
  envelope: Envelope,
): Promise<number> {
  try {
    return (await backend.call(collection, { op: 'rebuild', kind }, envelope)).records;
  } catch (error) {
    // The owner may learn of a deletion before this process.
    if (isDeletion(error) || (await isDeleted(backend, collection))) return 0;
    throw error;
  }
}

async function isDeleted(backend: Backend, { id, project, name }: Collection): Promise<boolean> {
  try {
    return (await backend.find(project, name)).id !== id;
  } catch (error) {
    return isCollectionNotFound(error);
  }
}
