/** The endpoints of an export: a collection's stored log, in pieces, also during writes. */
import { toHex } from '../../shared/hashing/hash.js';
import { namedActor } from '../../shared/model/actor.js';
import { originOf } from '../../shared/model/collectionConfig.js';
import { namedParameters } from '../../shared/model/indexParameters.js';
import type { Results } from '../../shared/protocol/calls.js';
import { inSlices } from '../../shared/scheduling/slice.js';
import { FRAME_PREFIX_BYTES, joinFrames } from '../body/frames.js';
import { assertExportLogQuery, type ExportLogQuery, type ExportResponse } from '../contract/backup.js';
import type { HandlerRequest } from '../http/handlerRequest.js';
import { bytesReply, json, type Reply } from '../http/reply.js';
import { inCollection, queryType, type Route, readRoute } from '../http/route.js';

/** The size of one answer, unless a single frame is larger: the default rate limits then allow 400 MiB a minute. */
const ANSWER_BYTES = 8 * 1024 * 1024;

/** The size of one message, unless a single frame is larger. */
const PART_BYTES = 1024 * 1024;

export const EXPORT_ROUTES: readonly Route[] = [
  readRoute('GET /v1/export', {
    summary: 'The end of the log for an export that begins now',
    query: inCollection,
    answers: 'ExportResponse',
    handle: async (request) => {
      const collection = await request.find(request.query.collection);
      const { text, signature, publicKey } = await request.call(collection, { op: 'checkpoint' });
      const { logBytes } = await request.call(collection, { op: 'describe' });
      return json<ExportResponse>({
        collection: collection.name,
        origin: originOf(collection),
        dimension: collection.dimension,
        metric: collection.metric,
        ...(collection.normalise && { normalise: true }),
        ...(collection.text && { text: { ...collection.text } }),
        ...(collection.ttlSecs && { ttl_secs: collection.ttlSecs }),
        ...(collection.erasable && { erasable: true }),
        created_at_ms: collection.createdAtMs,
        ...(collection.createdBy && { created_by: namedActor(collection.createdBy) }),
        index: { type: collection.index, parameters: namedParameters(collection.indexParameters) },
        log_bytes: logBytes,
        ...endOfLog(text),
        checkpoint: { note: text, signature: toHex(signature), public_key: toHex(publicKey) },
      });
    },
  }),
  readRoute('GET /v1/export/log', {
    summary: "A piece of a collection's log as it is stored",
    query: queryType('ExportLogQuery', assertExportLogQuery),
    answers: [
      {
        status: 200,
        description:
          'Whole frames, each after its length as a little-endian u32: up to 8 MiB, and at least one if there is one. ' +
          'The header vouch-last-sequence gives the last event in them, vouch-log-sequence the last event of the log.',
        body: 'bytes',
        headers: ['vouch-last-sequence', 'vouch-log-sequence'],
      },
    ],
    handle: async (request) => {
      return framesReply(await readFrames(request), request);
    },
  }),
];

/** Answers with stored frames, each after its length, and the numbers of the last entry in them and in the log. */
export async function framesReply(
  { frames, last, end }: Results['readLog'],
  request: Pick<HandlerRequest, 'slice'>,
): Promise<Reply> {
  return bytesReply(await inSlices(joinFrames(frames), request.slice()), [
    ['vouch-last-sequence', String(last)],
    ['vouch-log-sequence', String(end)],
  ]);
}

/** Reads the frames of an answer, a part at a time: a message of 8 MiB would take several milliseconds on each side. */
async function readFrames(request: HandlerRequest<unknown, ExportLogQuery>): Promise<Results['readLog']> {
  const collection = await request.find(request.query.collection);
  const mostBytes = Math.min(ANSWER_BYTES, request.services.backend.maxCommitBytes);
  const frames: Uint8Array[] = [];
  let sizeBytes = 0;
  let { from = 0 } = request.query;
  for (;;) {
    const maxBytes = Math.min(PART_BYTES, mostBytes);
    const part = await request.call(collection, { op: 'readLog', from, maxBytes });
    sizeBytes += part.frames.reduce((sum, { length }) => sum + FRAME_PREFIX_BYTES + length, 0);
    if (frames.length > 0 && sizeBytes > mostBytes) return { frames, last: from - 1, end: part.end };
    frames.push(...part.frames);
    if (part.last >= part.end || sizeBytes >= mostBytes) return { ...part, frames };
    from = part.last + 1;
  }
}

/** The lines of a checkpoint after its first two; see `CheckpointResponse`. */
function endOfLog(text: string): Pick<ExportResponse, 'sequence' | 'log_root' | 'chain_head' | 'state_hash'> {
  const [size = '', log_root = '', chain_head = '', state_hash = ''] = text.split('\n').slice(2);
  return { sequence: Math.max(Number(size) - 1, 0), log_root, chain_head, state_hash };
}
