/** Reading a collection's log as it is stored, in pieces, while it is written to. */
import { originOf } from '../../shared/calls.js';
import { namedParameters } from '../../shared/catalogEntry.js';
import { toHex } from '../../shared/hash.js';
import { joinFrames } from '../body/frames.js';
import type { ExportLogQuery, ExportResponse } from '../contract/backup.js';
import type { CollectionQuery } from '../contract/records.js';
import { bytes, json, type Reply } from '../http/reply.js';
import { findCollection } from './findCollection.js';
import type { HandlerRequest, Services } from './route.js';

/** Of one answer, but for a single frame that is larger: enough that the default rate limits let 400 MiB a minute through. */
const ANSWER_BYTES = 8 * 1024 * 1024;

/** What an export that begins now will end with, of one moment: the log may grow on. */
export async function exportFacts(
  { caller, query, envelope }: HandlerRequest<undefined, CollectionQuery>,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findCollection(backend, caller.project, query.collection);
  const { text, signature, publicKey } = await backend.call(collection, { op: 'checkpoint' }, envelope);
  const { logBytes } = await backend.call(collection, { op: 'describe' }, envelope);
  return json<ExportResponse>({
    collection: collection.name,
    origin: originOf(collection),
    dimension: collection.dimension,
    metric: collection.metric,
    created_at_ms: collection.createdAtMs,
    index: { type: collection.index, parameters: namedParameters(collection.indexParameters) },
    log_bytes: logBytes,
    ...endIn(text),
    checkpoint: { note: text, signature: toHex(signature), public_key: toHex(publicKey) },
  });
}

/** What a checkpoint says of the log: the lines after its first two, see `CheckpointResponse`. */
function endIn(text: string): Pick<ExportResponse, 'sequence' | 'log_root' | 'chain_head' | 'state_hash'> {
  const [, , size, log_root, chain_head, state_hash] = text.split('\n') as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  return { sequence: Math.max(Number(size) - 1, 0), log_root, chain_head, state_hash };
}

/** Whole frames. The headers tell how far they reach, and how far the log does. */
export async function exportLog(
  { caller, query, envelope }: HandlerRequest<undefined, ExportLogQuery>,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findCollection(backend, caller.project, query.collection);
  const maxBytes = Math.min(ANSWER_BYTES, backend.maxCommitBytes);
  const call = { op: 'readLog', from: query.from ?? 0, maxBytes } as const;
  const { frames, last, end } = await backend.call(collection, call, envelope);
  return bytes(joinFrames(frames), [
    ['vouch-last-sequence', String(last)],
    ['vouch-log-sequence', String(end)],
  ]);
}
