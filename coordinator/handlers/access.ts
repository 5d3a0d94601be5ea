/** The endpoints of access logs: who has read collections whose reads are audited. Reading them is not an entry. */
import { refusal, unavailable } from '../../shared/errors/errors.js';
import type { AccessHead } from '../../shared/protocol/access.js';
import { inSlices } from '../../shared/scheduling/slice.js';
import {
  type AccessCheckpointResponse,
  assertAccessLogQuery,
  assertAccessQuery,
  type RemovedEntries,
} from '../contract/access.js';
import { JsonWriter } from '../http/jsonWriter.js';
import { json } from '../http/reply.js';
import { adminReadRoute, inCollection, queryType, type Route } from '../http/route.js';
import { readAccess } from '../serviceLog/entry.js';
import { framesReply } from './exports.js';
import { spanOf } from './proofs.js';

const LIMIT = 100;
/** The size of an answer, unless a single entry or frame is larger. */
const ANSWER_BYTES = 1024 * 1024;

const named = ({ size, chainHead: chain_head, root }: AccessHead) => ({ size, chain_head, root });

const removedEntries = ({ size: entries, chainHead: chain_head, root }: AccessHead): RemovedEntries => ({
  ...{ entries, chain_head, root },
});

export const ACCESS_ROUTES: readonly Route[] = [
  adminReadRoute('GET /v1/access', {
    summary: 'Who has read a collection, in order',
    query: queryType('AccessQuery', assertAccessQuery),
    answers: 'AccessResponse',
    errors: ['entries_removed'],
    handle: async (request) => {
      const { collection, from, to, limit = LIMIT, after = 0, actor } = request.query;
      const page = { ...spanOf(from, to), after, limit, maxBytes: ANSWER_BYTES, ...(actor !== undefined && { actor }) };
      const { entries, head, removed, next } = await request.callNamed(collection, { op: 'accessPage', ...page });
      const writer = new JsonWriter();
      for (const [i, entry] of entries.entries()) writer.write(`${i === 0 ? '{"entries":[' : ','}${entry}`);
      const rest = { ...(removed && { removed: removedEntries(removed) }), ...named(head), ...(next && { next }) };
      writer.write(`${entries.length === 0 ? '{"entries":[' : ''}],${JSON.stringify(rest).slice(1)}`);
      return inSlices(writer.reply(), request.slice());
    },
  }),
  adminReadRoute('GET /v1/access/checkpoint', {
    summary: 'The newest state of an access log that is in the service log',
    query: inCollection,
    answers: 'AccessCheckpointResponse',
    handle: async (request) => {
      const { serviceLog } = request.services;
      const collection = await request.find(request.query.collection);
      const page = { op: 'accessPage', fromMs: 0, toMs: 0, after: 0, limit: 1, maxBytes: 1 } as const;
      const { head } = await request.call(collection, page);
      if (head.size === 0) throw refusal('conflict', 'noAccess');
      await request.wait(serviceLog.untilAccessLogged(collection.id, head.size, request.envelope));
      const proved = await serviceLog.proveAccess(collection.id);
      const logged = proved && readAccess(proved.entry);
      if (proved === undefined || logged === undefined)
        throw unavailable('the access log is not in a checkpoint of the service log yet; retry shortly');
      const { size, chainHead: chain_head, root } = logged;
      const service_log = { entry: Buffer.from(proved.entry).toString('base64url'), proof: proved.proof };
      return json<AccessCheckpointResponse>({ size, chain_head, root, service_log });
    },
  }),
  adminReadRoute('GET /v1/access/log', {
    summary: 'A piece of an access log as it is stored',
    query: queryType('AccessLogQuery', assertAccessLogQuery),
    answers: [
      {
        status: 200,
        description:
          'Whole frames, each after its length as a little-endian u32: up to 1 MiB, and at least one if there is one. ' +
          'The header vouch-last-sequence gives the last entry in them, vouch-log-sequence the last entry of the log.',
        body: 'bytes',
        headers: ['vouch-last-sequence', 'vouch-log-sequence'],
      },
    ],
    errors: ['entries_removed'],
    handle: async (request) => {
      const { collection, from } = request.query;
      const call = { op: 'accessFrames', ...(from !== undefined && { from }), maxBytes: ANSWER_BYTES } as const;
      return framesReply(await request.callNamed(collection, call), request);
    },
  }),
];
