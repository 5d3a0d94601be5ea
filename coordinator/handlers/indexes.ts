/** Index configuration, state and rebuild. */
import { VouchError } from '../../shared/errors.js';
import type { Prepared } from '../body/kinds.js';
import type { IndexConfigResponse, IndexParameters, IndexState, RebuildResponse } from '../contract/collections.js';
import { invalid } from '../contract/refusal.js';
import { json, type Reply } from '../http/reply.js';
import { findCollection } from './findCollection.js';
import { refuseIndex } from './notYet.js';
import type { HandlerRequest, Services } from './route.js';

/** Of a collection that is searched exactly. */
const exactState = (collection: string): IndexState => ({
  collection,
  active_type: 'none',
  status: 'none',
  desired_type: 'none',
  active_generation: null,
  building_generation: null,
});

export async function configureIndex(
  { caller, parameters, body }: HandlerRequest<Prepared<'configureIndex'>>,
  { backend, config }: Services,
): Promise<Reply> {
  assertProbes(body.parameters ?? {});
  const { name } = await findCollection(backend, caller.project, parameters[0]);
  if (!config.ann) throw new VouchError('not_implemented', 'index management is turned off on this node');
  if (body.type) refuseIndex(body.type);
  return json(exactState(name));
}

function assertProbes({ n_list, n_probe }: IndexParameters): void {
  if (n_list && n_probe && n_probe > n_list)
    throw invalid(`$.parameters.n_probe: expected at most n_list (${n_list}), got ${n_probe}`);
}

export async function indexState({ caller, parameters }: HandlerRequest, { backend }: Services): Promise<Reply> {
  return json(exactState((await findCollection(backend, caller.project, parameters[0])).name));
}

export async function rebuild(
  { caller, body, envelope }: HandlerRequest<Prepared<'rebuild'>>,
  { backend }: Services,
): Promise<Reply> {
  const { index } = body;
  if (index && index !== 'brute' && index !== 'bruteforce') refuseIndex(index);
  const collections = await backend.list(caller.project, envelope);
  const rebuilt = await Promise.all(
    collections.map((collection) => backend.call(collection, { op: 'rebuild' }, envelope)),
  );
  const records = rebuilt.reduce((sum, { records: its }) => sum + its, 0);
  return json<RebuildResponse>({ ok: true, effective: index ?? 'rebuilt', records });
}

export const indexConfig = (): Reply => json<IndexConfigResponse>({ index_type: 'collection_scoped' });
