/** Taking in a collection as an export of another: announced, sent in pieces, and compared with what was announced. */

import { parametersOf } from '../../shared/catalogEntry.js';
import { VouchError } from '../../shared/errors.js';
import { EXACT } from '../../shared/indexSpec.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Backend, Imported } from '../backend.js';
import type { Prepared } from '../body/kinds.js';
import type { BeginImportRequest, ImportResponse } from '../contract/backup.js';
import { invalid } from '../contract/refusal.js';
import { isCollectionName } from '../contract/values.js';
import { json, type Reply } from '../http/reply.js';
import { collectionName } from './findCollection.js';
import type { HandlerRequest, Services } from './route.js';

/** What the genesis of a log has room for. */
const GENESIS_NAME_BYTES_MAX = 255;

/** Where a log ends. */
type Reached = Pick<ImportResponse, 'sequence' | 'chain_head' | 'state_hash'>;

export async function beginImport(
  { caller, body, envelope }: HandlerRequest<Prepared<'beginImport'>>,
  { backend, config }: Services,
): Promise<Reply> {
  const { origin, dimension, created_at_ms, index, sequence, chain_head, state_hash } = body;
  for (const field of ['project', 'name'] as const) assertInGenesis(origin[field], `$.origin.${field}`);
  // Where a node has no index but exact search, that finds the same.
  const spec = index && config.ann ? { kind: index.type, parameters: parametersOf(index.parameters ?? {}) } : EXACT;
  const wanted = {
    name: nameOf(body),
    ...{ origin, dimension, createdAtMs: created_at_ms, spec },
    end: { sequence, chainHead: chain_head, stateHash: state_hash },
  };
  const { collection } = await backend.beginImport(caller.project, wanted, envelope);
  return json(answer(collection, await reached(backend, collection, envelope)));
}

export async function importLog(
  { caller, parameters, body, envelope }: HandlerRequest<Prepared<'frames'>>,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findImport(backend, caller.project, parameters[0]);
  assertUnfinished(collection);
  const upTo = collection.imported.sequence;
  let now: Reached | undefined;
  for (const frames of messages(body, backend.maxCommitBytes))
    now = await send(backend, collection, frames, upTo, envelope);
  return json(answer(collection, now ?? (await reached(backend, collection, envelope))));
}

/** Compares what is there with what was announced, and only then lets the collection be used. */
export async function finishImport(
  { caller, parameters, envelope }: HandlerRequest,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findImport(backend, caller.project, parameters[0]);
  const { imported: announced } = collection;
  if (announced.finished) return json(answer(collection, endOf(collection)));
  const now = await reached(backend, collection, envelope);
  if (now.sequence < announced.sequence)
    throw new VouchError('conflict', `${now.sequence} of ${announced.sequence} events are there; send the rest`);
  if (now.chain_head !== announced.chainHead) throw invalid('the log ends with another chain head than was announced');
  if (now.state_hash !== announced.stateHash) throw invalid('the state has another hash than was announced');
  await backend.finishImport(collection);
  return json(answer({ ...collection, imported: { ...announced, finished: true } }, now));
}

const findImport = (backend: Backend, project: string, wanted: string | undefined): Promise<Imported> =>
  backend.findImport(project, collectionName(wanted));

function nameOf({ name, origin }: BeginImportRequest): string {
  const wanted = name ?? origin.name;
  if (!isCollectionName(wanted)) throw invalid('$.origin.name is no name for a collection here: give one as $.name');
  return wanted;
}

/** The type has seen to it that it is no longer in characters. Throws `validation_error`. */
function assertInGenesis(text: string, path: string): void {
  const bytes = Buffer.from(text);
  if (bytes.length > GENESIS_NAME_BYTES_MAX || bytes.toString() !== text)
    throw invalid(`${path}: expected a text of at most ${GENESIS_NAME_BYTES_MAX} bytes of UTF-8`);
}

function assertUnfinished({ name, imported }: Imported): void {
  if (imported.finished)
    throw new VouchError('conflict', `the import of collection ${JSON.stringify(name)} is finished`);
}

/** The ends of a finished import, whatever was written since. */
const endOf = ({ imported }: Imported): Reached => ({
  sequence: imported.sequence,
  chain_head: imported.chainHead,
  state_hash: imported.stateHash,
});

const reached = async (backend: Backend, collection: Imported, envelope: Envelope): Promise<Reached> =>
  collection.imported.finished
    ? endOf(collection)
    : send(backend, collection, [], collection.imported.sequence, envelope);

async function send(
  backend: Backend,
  collection: Imported,
  frames: readonly Uint8Array[],
  upTo: number,
  envelope: Envelope,
): Promise<Reached> {
  const { sequence, chainHead, stateHash } = await backend.call(
    collection,
    { op: 'importFrames', frames, upTo },
    envelope,
  );
  return { sequence, chain_head: chainHead, state_hash: stateHash };
}

/** As many frames together as travel in one message. A larger one alone is refused where it is sent. */
function* messages(frames: readonly Uint8Array[], bytesMax: number): Generator<Uint8Array[]> {
  let message: Uint8Array[] = [];
  let sizeBytes = 0;
  for (const frame of frames) {
    if (message.length > 0 && sizeBytes + frame.length > bytesMax) {
      yield message;
      message = [];
      sizeBytes = 0;
    }
    message.push(frame);
    sizeBytes += frame.length;
  }
  if (message.length > 0) yield message;
}

const answer = ({ name, id, imported }: Imported, now: Reached): ImportResponse => ({
  collection: name,
  id,
  status: imported.finished ? 'finished' : 'importing',
  ...now,
});
