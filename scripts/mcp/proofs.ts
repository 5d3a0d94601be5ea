/** Tools that list a collection's events and prove them. Proofs from the service are checked here, never believed. */
import { z } from 'zod';
import {
  type Checkpoint,
  parseJson,
  readProof,
  receiptIn,
  toHex,
  verifyCheckpoint,
  verifyInclusion,
} from '../../verifier/index.js';
import '../../verifier/node/index.js';
import { counted } from '../../shared/errors/counted.js';
import { Refused, type ServiceClient } from '../service/serviceClient.js';
import { instant, type Verdict } from '../verify/print.js';
import { type CheckedReceipt, checkReceiptAlone, receiptOfEvent } from '../verify/receipts.js';
import { collection, externalId, limit, metadata, receipt, requestId, vector } from './fields.js';
import { shortened } from './fitted.js';
import { defineTool, Misused, pathWith, type Registration } from './tool.js';

const PROVED_MAX = 10;
/** Largest number of bytes of the checks, and of the checkpoint: more than an honest service sends. */
const PART_BYTES_MAX = 8_000;
/** Status of the receipt of a write that changed no record. */
const NO_RECEIPT = 400;

const ask = async (
  client: ServiceClient,
  path: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<unknown> => parseJson(await client.send('GET', pathWith(path, parameters)), 'the answer of the service');

/** The receipt; undefined if the event changed no record. */
async function receiptOf(client: ServiceClient, at: { collection?: string; sequence: number }): Promise<unknown> {
  try {
    return await ask(client, '/v1/proof/receipt', at);
  } catch (error) {
    if (error instanceof Refused && error.status === NO_RECEIPT) return undefined;
    throw error;
  }
}

const event = z.object({
  log_index: z.int(),
  event_type: z.string(),
  timestamp_unix: z.int(),
  timestamp_iso: z.string(),
  actor: z.record(z.string(), z.string()).optional().describe('Who made it: key_id, on_behalf_of, request_id.'),
  record_id: z.int().optional(),
  receipt: receipt.optional(),
  inclusion: z.record(z.string(), z.unknown()).optional().describe('The proof that the event is in the log.'),
});

interface Timeline {
  readonly events: readonly { log_index: number }[];
  readonly total: number;
  readonly next?: number;
}

const history = defineTool({
  name: 'history',
  title: 'History',
  description:
    'Lists the events of a collection in their order: what was written (event_type), when, by whom, and to which record. `log_index` numbers ' +
    'them; it is the `sequence` of verify, the `as_of_log_index` of search and the `after` of the next page. `total` counts all pages.',
  effect: 'reads',
  input: z.strictObject({
    collection,
    from: z.string().optional().describe('Events at or after this instant: ISO 8601 with its zone, or unix seconds.'),
    to: z.string().optional().describe('Events at or before this instant.'),
    after: z.int().min(0).optional().describe('Only events with a greater log_index.'),
    actor: z.string().optional().describe('Only events of this key_id or on_behalf_of.'),
    limit: limit(20),
    proofs: z
      .boolean()
      .default(false)
      .describe(
        `Adds to each event its receipt and the proof that it is in the log, unchecked; then limit is at most ${PROVED_MAX}.`,
      ),
  }),
  output: {
    events: z.array(event),
    total: z.int().describe('Number of events between the two times, on all pages; `actor` does not reduce it.'),
    next: z.int().optional().describe('With `actor`: the `after` of the next page, while there may be more.'),
  },
  listing: { name: 'events', shortens: [], rest: 'The last log_index is the `after` of the next page.' },
  async run(client, { proofs, ...given }) {
    const asked = proofs ? { ...given, limit: Math.min(given.limit, PROVED_MAX) } : given;
    const timeline = await client.ask<Timeline>('GET', pathWith('/v1/timeline', asked));
    if (!proofs) return timeline;
    const events: unknown[] = [];
    for (const event of timeline.events) {
      const at = { collection: given.collection, sequence: event.log_index };
      const inclusion = await ask(client, '/v1/proof/inclusion', at);
      events.push({ ...event, receipt: await receiptOf(client, at), inclusion });
    }
    return { ...timeline, events };
  },
});

/** The checks in their order. */
class Checks {
  readonly done: { check: string; result: 'holds' | 'fails' | 'unchecked'; says: string }[] = [];

  /** Runs a check; undefined if it fails with an error of `work`. Throws Misused. */
  run<Found>(check: string, work: () => Found, says: (found: Found) => string): Found | undefined {
    try {
      const found = work();
      this.done.push({ check, result: 'holds', says: says(found) });
      return found;
    } catch (error) {
      if (error instanceof Misused) throw error;
      this.done.push({ check, result: 'fails', says: (error as Error).message });
      return undefined;
    }
  }

  leaveOut(check: string, why: string): void {
    this.done.push({ check, result: 'unchecked', says: why });
  }
}

const MEANINGS: Readonly<Record<Exclude<Verdict, 'otherName'>, string>> = {
  holds: 'Everything holds, under the public key that this server was started with.',
  unknownSigner:
    'Everything agrees, but the signer is unknown: start this server with --signer and the public key that the service ' +
    'printed at its start, or compare public_key with it.',
  refused: 'A check fails: see which one. Do not rely on the data that the service gives for this event.',
};

interface Asked {
  readonly collection: string;
  readonly sequence: number;
  /** The given receipt; undefined: the service is asked for it. */
  readonly receipt: unknown;
  readonly record: object | undefined;
}

const signedAt = ({ origin, size, timeMs }: Checkpoint): string =>
  `${origin.project}/${origin.name}: ${counted(size, 'event')} (with the first, which creates the collection), signed ${instant(timeMs)}`;

/** Checks an event from the signature of the log down to the record; the checkpoint comes from the service. */
async function checkEvent(client: ServiceClient, asked: Asked, signer: string | undefined, checks: Checks) {
  const { collection, sequence, record } = asked;
  const json = await ask(client, '/v1/proof/checkpoint', { collection });
  const signed = checks.run('checkpoint', () => checkpointOf(json, asked, signer), signedAt);
  if (signed === undefined) return json;
  const proof = await ask(client, '/v1/proof/inclusion', { collection, sequence, size: Number(signed.size) });
  const inclusion = checks.run(
    'inclusion',
    () => {
      const found = verifyInclusion(proof);
      if (found.sequence !== BigInt(sequence)) throw new Error(`the proof is of event ${found.sequence}`);
      if (found.log.size !== signed.size || toHex(found.log.root) !== signed.root)
        throw new Error('the proof leads to another log than the signed one');
      return found;
    },
    () => `event ${sequence} is in the signed log`,
  );
  if (inclusion === undefined) return json;
  const served = await receiptOf(client, { collection, sequence });
  const receipt = asked.receipt ?? served;
  if (receipt === undefined && record !== undefined) throw new Misused(`event ${sequence} changed no record`);
  if (receipt === undefined) checks.leaveOut('receipt', 'the service says that the event changed no record');
  else
    checks.run('receipt', () => receiptOfEvent(receipt, completed(record, served), inclusion, [signed]), checkedText);
  return json;
}

/** The record with the request id of its write, from the service's receipt. The check of the event proves the id. */
function completed(record: object | undefined, served: unknown): object | undefined {
  const { request_id } = (served ?? {}) as { readonly request_id?: unknown };
  return record && (request_id === undefined ? record : { request_id, ...record });
}

function checkedText({ proof: { recordId }, record, event, isSigned }: CheckedReceipt): string {
  const what = `is of this event: ${event ?? 'a write'} of record ${recordId}`;
  if (record === undefined) return what;
  if (isSigned || event === 'insert' || event === 'delete') return `${what}, which wrote exactly these values`;
  return `${what}; its values come from the receipt alone: verify the insert too`;
}

/** Throws an Error if the checkpoint does not hold, is of another collection, or is of a log without the event. */
function checkpointOf(json: unknown, { collection, sequence, receipt }: Asked, signer: string | undefined): Checkpoint {
  const checkpoint = verifyCheckpoint(json, signer);
  if (checkpoint.origin.name !== collection) throw new Error(`it is of the collection ${checkpoint.origin.name}`);
  if (checkpoint.size > BigInt(sequence)) return checkpoint;
  const none = `the signed log of ${counted(checkpoint.size, 'event')} has no event ${sequence}`;
  // With a receipt, the event must have existed.
  throw receipt === undefined ? new Misused(none) : new Error(none);
}

const givenRecord = z
  .strictObject({
    vector: vector.optional(),
    text: z.string().optional(),
    metadata: metadata.optional().describe('As it was inserted, with its keys in the same order.'),
    metadata_json: z.string().optional().describe('In place of metadata: exactly the JSON text that was sent.'),
    tag: z.int().min(0).optional(),
    external_id: externalId.optional(),
    request_id: requestId,
    inserted_ms: z.int().min(0).optional().describe('When the record was inserted, if the event changed it later.'),
    state: z.enum(['live', 'tombstoned']).optional().describe('After the event; tombstoned by a soft delete.'),
    deleted: z.boolean().optional().describe('true, alone: the event deleted the record for good.'),
  })
  .refine(({ vector, deleted }) => (vector === undefined) === (deleted === true), 'give vector, or deleted: true alone')
  .refine(
    (given) => given.metadata === undefined || given.metadata_json === undefined,
    'give one of metadata and metadata_json',
  )
  .describe('The record after the event, with every field that was inserted, in the form in which it was sent.');

/** The record with its metadata under the name that receipts use. */
function asInserted({ metadata, metadata_json, ...record }: z.output<typeof givenRecord>): object {
  const given = metadata ?? metadata_json;
  return given === undefined ? record : { ...record, metadata: given };
}

const verify = (signer: string | undefined): Registration =>
  defineTool({
    name: 'verify',
    title: 'Verify an event',
    description:
      'Checks an event of a collection in this process, without believing the service: the signature of its log, that the event is in ' +
      'the signed log, and that its receipt is of this event. Give `sequence`, or a `receipt` that was kept. With `record`, it also ' +
      'checks that the write wrote exactly these values. `verdict`: holds, refused, or unknownSigner if everything agrees and the public ' +
      'key is unknown.',
    effect: 'reads',
    input: z.strictObject({
      collection,
      sequence: z.int().min(0).optional().describe('The log_index of the event, as history lists it.'),
      receipt: metadata
        .optional()
        .describe('The receipt as it was answered by an insert. Omitted: the service is asked for it.'),
      record: givenRecord.optional(),
    }),
    output: {
      verdict: z.enum(['holds', 'refused', 'unknownSigner']),
      meaning: z.string(),
      checks: z
        .array(z.object({ check: z.string(), result: z.enum(['holds', 'fails', 'unchecked']), says: z.string() }))
        .describe('In their order, up to the first that fails.'),
      checkpoint: z
        .record(z.string(), z.unknown())
        .optional()
        .describe('The signed state of the log, as the service gives it.'),
    },
    async run(client, { collection = 'default', sequence, receipt, record: given }) {
      const record = given && asInserted(given);
      if ((sequence === undefined) === (receipt === undefined)) throw new Misused('give one of sequence and receipt');
      const checks = new Checks();
      const alone =
        receipt &&
        checks.run(
          'receipt alone',
          () => sequenceOf(receipt),
          (at) => `holds in itself: write ${at}`,
        );
      const at = sequence ?? alone;
      const checkpoint =
        at === undefined
          ? undefined
          : await checkEvent(client, { collection, sequence: at, receipt, record }, signer, checks);
      const isRefused = checks.done.some(({ result }) => result === 'fails');
      const verdict: Verdict = isRefused ? 'refused' : signer === undefined ? 'unknownSigner' : 'holds';
      return {
        verdict,
        meaning: MEANINGS[verdict],
        checks: shortened(checks.done, PART_BYTES_MAX),
        checkpoint: checkpoint && shortened(checkpoint, PART_BYTES_MAX),
      };
    },
  });

/** The sequence in a receipt that holds in itself. Throws an Error with the reason if it does not hold. */
function sequenceOf(json: unknown): number {
  const { problems } = checkReceiptAlone(json, undefined);
  if (problems.length > 0) throw new Error(problems.join('; '));
  return Number(readProof(receiptIn(json).proof).sequence);
}

/** `signer`: the public key that must have signed, in hex; undefined: any key. */
export const proofTools = (signer: string | undefined): readonly Registration[] => [history, verify(signer)];
