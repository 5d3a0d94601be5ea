/** What a collection proves of itself, in the shapes of the contract. */
import { toHex } from '../../shared/hash.js';
import type { LogHead, ProofResults } from '../../shared/proofs.js';
import { listSigners } from '../../shared/signers.js';
import type {
  CheckpointResponse,
  ConsistencyQuery,
  ConsistencyResponse,
  EventLogProofResponse,
  InclusionQuery,
  InclusionResponse,
  LogAt,
  ReceiptQuery,
  SigningKeysResponse,
  StateProofResponse,
} from '../contract/proofs.js';
import type { CollectionQuery } from '../contract/records.js';
import { json, type Reply } from '../http/reply.js';
import { findCollection } from './findCollection.js';
import type { HandlerRequest, Services } from './route.js';

/** Of a public key in hex: enough to tell one from another at a glance. */
const KEY_ID_DIGITS = 16;

export async function proveState(
  { caller, query, envelope }: HandlerRequest<undefined, CollectionQuery>,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findCollection(backend, caller.project, query.collection);
  const { stateHash, stateRoot, chainHead, log } = await backend.call(collection, { op: 'proofState' }, envelope);
  return json<StateProofResponse>({
    final_state_hash: toHex(stateHash),
    state_root: toHex(stateRoot),
    chain_head: toHex(chainHead),
    sequence: log.sequence,
  });
}

export async function proveEventLog(
  { caller, query, envelope }: HandlerRequest<undefined, CollectionQuery>,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findCollection(backend, caller.project, query.collection);
  const { stateHash, log } = await backend.call(collection, { op: 'proofState' }, envelope);
  return json<EventLogProofResponse>({
    event_log_hash: toHex(log.root),
    event_count: log.sequence,
    committed_height: log.sequence,
    final_state_hash: toHex(stateHash),
  });
}

export async function proveWrite(
  { caller, query, envelope }: HandlerRequest<undefined, ReceiptQuery>,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findCollection(backend, caller.project, query.collection);
  return json(await backend.call(collection, { op: 'proofReceipt', sequence: query.sequence }, envelope));
}

export async function proveInclusion(
  { caller, query, envelope }: HandlerRequest<undefined, InclusionQuery>,
  { backend }: Services,
): Promise<Reply> {
  const { sequence, size = null } = query;
  const collection = await findCollection(backend, caller.project, query.collection);
  return json(shownInclusion(await backend.call(collection, { op: 'proofInclusion', sequence, size }, envelope)));
}

export const shownInclusion = ({ sequence, log, proof }: ProofResults['proofInclusion']): InclusionResponse => ({
  sequence,
  size: log.size,
  root: toHex(log.root),
  proof: base64url(proof),
});

export async function proveConsistency(
  { caller, query, envelope }: HandlerRequest<undefined, ConsistencyQuery>,
  { backend }: Services,
): Promise<Reply> {
  const { from, to } = query;
  const collection = await findCollection(backend, caller.project, query.collection);
  const answer = await backend.call(collection, { op: 'proofConsistency', from, to }, envelope);
  return json<ConsistencyResponse>({
    from: shownLog(answer.from),
    to: shownLog(answer.to),
    proof: base64url(answer.proof),
  });
}

export async function signCheckpoint(
  { caller, query, envelope }: HandlerRequest<undefined, CollectionQuery>,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findCollection(backend, caller.project, query.collection);
  const { text, signature, publicKey } = await backend.call(collection, { op: 'checkpoint' }, envelope);
  return json<CheckpointResponse>({ checkpoint: text, signature: toHex(signature), ...shownKey(toHex(publicKey)) });
}

/** Of the whole service: the keys are its own, not a project's. */
export async function listSigningKeys(_request: HandlerRequest, { signers }: Services): Promise<Reply> {
  const keys = await listSigners(signers);
  return json<SigningKeysResponse>({
    keys: keys.map(({ publicKey, sinceMs }) => ({ ...shownKey(publicKey), since: Math.floor(sinceMs / 1000) })),
  });
}

const base64url = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');

const shownLog = ({ sequence, size, root }: LogHead): LogAt => ({ sequence, size, root: toHex(root) });

const shownKey = (publicKey: string): { public_key: string; key_id: string } => ({
  public_key: publicKey,
  key_id: publicKey.slice(0, KEY_ID_DIGITS),
});
