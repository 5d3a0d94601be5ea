/** The tool that reads access logs. */
import { z } from 'zod';
import { collection, limit } from './fields.js';
import { defineTool, pathWith } from './tool.js';

const entry = z.object({
  entry: z.int(),
  time: z.string(),
  actor: z.record(z.string(), z.string()).describe('Who read: key_id, on_behalf_of, request_id.'),
  kind: z.string().describe('Method and path of the endpoint.'),
  status: z.int().describe('From 400 on the read was refused.'),
  request_hash: z.string().optional(),
  request: z.string().optional().describe('Method, path and query, where the collection keeps requests.'),
  body: z.string().optional(),
  since: z.int().optional().describe('A write was committed meanwhile: the answer has the events up to this one.'),
  sequence: z.int().optional().describe('The last event of the state that answered: a log_index of history.'),
  state_hash: z.string().optional(),
  records: z.int().optional().describe('The number of records in the answer.'),
  ids: z.array(z.int()).optional().describe('The records, if they are at most 64.'),
  scores: z.array(z.number()).optional(),
  answer_hash: z.string().optional(),
});

export const accessLog = defineTool({
  name: 'access_log',
  title: 'Access log',
  description:
    'Lists who has read a collection, in order: an entry for each read, answered or refused, with the records that it found. Only ' +
    'collections with audit_reads have entries. `entry` numbers them, and `next` is the `after` of the next page; it is absent at the ' +
    'end. Needs an API key of scope admin.',
  effect: 'reads',
  input: z.strictObject({
    collection,
    actor: z.string().optional().describe('Only entries of this key_id or on_behalf_of.'),
    from: z.string().optional().describe('Entries at or after this instant: ISO 8601 with its zone, or unix seconds.'),
    to: z.string().optional().describe('Entries at or before this instant.'),
    after: z.int().min(0).optional().describe('Only entries with a greater number.'),
    limit: limit(20),
  }),
  output: {
    entries: z.array(entry),
    removed: z
      .object({ entries: z.int(), chain_head: z.string(), root: z.string() })
      .optional()
      .describe('The entries before the first one that is kept, removed by age: their number, and what they hash to.'),
    size: z.int().describe('The number of all entries so far, with the removed ones.'),
    chain_head: z.string(),
    root: z.string().describe('The root of the tree over all entries.'),
    next: z.int().optional(),
  },
  listing: {
    name: 'entries',
    shortens: ['request', 'body'],
    nextAfter: 'entry',
    rest: '`next` continues. GET /v1/access of the service has whole entries.',
  },
  run: (client, given) => client.ask<object>('GET', pathWith('/v1/access', given)),
});
