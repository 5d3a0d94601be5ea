/** Index configuration and state. */
import type { Config } from '../../config/config.js';
import { parametersOf } from '../../shared/catalogEntry.js';
import { VouchError } from '../../shared/errors.js';
import { EXACT, type IndexState } from '../../shared/indexSpec.js';
import type { Prepared } from '../body/kinds.js';
import type { IndexState as AnsweredState, IndexConfigResponse, IndexParameters } from '../contract/collections.js';
import { invalid } from '../contract/refusal.js';
import { json, type Reply } from '../http/reply.js';
import { findCollection } from './findCollection.js';
import type { HandlerRequest, Services } from './route.js';

const ACCEPTED = 202;

export async function configureIndex(
  { caller, parameters: [wanted], body, envelope }: HandlerRequest<Prepared<'configureIndex'>>,
  { backend, config }: Services,
): Promise<Reply> {
  const parameters = body.parameters ?? {};
  assertProbes(parameters);
  const collection = await findCollection(backend, caller.project, wanted);
  assertIndexing(config);
  const spec = body.type ? { kind: body.type, parameters: parametersOf(parameters) } : EXACT;
  const state = await backend.call(collection, { op: 'configureIndex', spec }, envelope);
  return json(answeredState(collection.name, state), body.type ? ACCEPTED : undefined);
}

export async function indexState(
  { caller, parameters: [wanted], envelope }: HandlerRequest,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findCollection(backend, caller.project, wanted);
  return json(answeredState(collection.name, await backend.call(collection, { op: 'indexState' }, envelope)));
}

export const indexConfig = (): Reply => json<IndexConfigResponse>({ index_type: 'collection_scoped' });

/** Throws `not_implemented` where this node is configured to have no index but exact search. */
export function assertIndexing({ ann }: Config): void {
  if (!ann) throw new VouchError('not_implemented', 'index management is turned off on this node');
}

function assertProbes({ n_list, n_probe }: IndexParameters): void {
  if (n_list && n_probe && n_probe > n_list)
    throw invalid(`$.parameters.n_probe: expected at most n_list (${n_list}), got ${n_probe}`);
}

/** The generations may be null; what has no such value in the contract is left out. */
function answeredState(collection: string, state: IndexState): AnsweredState {
  const { activeKind, status, desiredKind, activeGeneration, buildingGeneration } = state;
  const { buildStartedAtMs, baseSequence, error } = state;
  return {
    collection,
    active_type: activeKind,
    status,
    desired_type: desiredKind === 'brute' ? 'none' : desiredKind,
    active_generation: activeGeneration,
    building_generation: buildingGeneration,
    ...(buildStartedAtMs === null ? {} : { build_started_at: Math.floor(buildStartedAtMs / 1_000) }),
    ...(baseSequence === null ? {} : { base_lsn: baseSequence }),
    ...(error === null ? {} : { error }),
  };
}
