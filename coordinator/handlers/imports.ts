/** The endpoints of an import: an export of another collection is announced, sent in pieces, and compared. */
import { refusal } from '../../shared/errors/errors.js';
import { actorOf, namedActor } from '../../shared/model/actor.js';
import { parametersOf } from '../../shared/model/indexParameters.js';
import { BRUTE } from '../../shared/model/indexSpec.js';
import type { AccessSettings } from '../../shared/model/readAudit.js';
import { framesIn } from '../body/frames.js';
import type { ImportedCollection } from '../cluster/catalog/collection.js';
import { afterCreation } from '../cluster/catalog/deleted.js';
import type { BeginImportRequest, ImportResponse } from '../contract/backup.js';
import type { RouteAnswer } from '../contract/openapi.js';
import { invalid } from '../contract/refusal.js';
import { isCollectionName } from '../contract/values.js';
import { collectionName, type HandlerRequest } from '../http/handlerRequest.js';
import { json } from '../http/reply.js';
import { type Route, writeRoute } from '../http/route.js';

/** Largest number of frames of one message: packing and unpacking them takes some milliseconds. */
const FRAMES_MAX = 8_192;

/** The bound of a name in the genesis of a log. */
const GENESIS_NAME_BYTES_MAX = 255;

type LogEnd = Pick<ImportResponse, 'sequence' | 'chain_head' | 'state_hash'>;

const answers: RouteAnswer[] = [{ status: 200, description: 'The state of the import.', body: 'ImportResponse' }];

export const IMPORT_ROUTES: readonly Route[] = [
  writeRoute('POST /v1/import', {
    summary: 'Announce an export that will be sent, or read how much of it has arrived',
    body: 'beginImport',
    answers,
    errors: ['conflict', 'capacity_exceeded'],
    handle: async (request) => {
      const { origin, dimension, normalise, text, erasable, created_at_ms: createdAtMs, created_by } = request.body;
      const { index, sequence, chain_head, state_hash, ttl_secs: ttlSecs } = request.body;
      const { backend, config } = request.services;
      for (const field of ['project', 'name'] as const) assertInGenesis(origin[field], `$.origin.${field}`);
      // A node without indexes uses exact search, which finds at least as much.
      const spec = index && config.ann ? { kind: index.type, parameters: parametersOf(index.parameters ?? {}) } : BRUTE;
      const end = { sequence, chainHead: chain_head, stateHash: state_hash };
      const createdBy = created_by && { createdBy: actorOf(created_by) };
      const rules = { ...(normalise && { normalise }), ...(text && { text }), ...(erasable && { erasable }) };
      const fixed = { dimension, ...rules, createdAtMs, ...createdBy };
      const name = nameOf(request.body);
      await request.assertMayTake(name);
      const wanted = { name, origin, ...fixed, spec, ...(ttlSecs && { ttlSecs }), end };
      const { collection } = await backend.beginImport(request.caller.project, wanted, request.envelope);
      try {
        return json(importResponse(collection, await logEnd(request, collection)));
      } catch (error) {
        throw afterCreation(error, collection);
      }
    },
  }),
  writeRoute('POST /v1/import/{name}/log', {
    summary: 'Send the next frames of an export',
    body: 'frames',
    answers,
    errors: ['collection_not_found', 'conflict', 'capacity_exceeded'],
    handle: async (request) => {
      const collection = await findImport(request);
      if (collection.imported.finished)
        throw refusal('conflict', 'importFinished', { name: JSON.stringify(collection.name) });
      let end: LogEnd | undefined;
      for (const frames of messagesOf(framesIn(request.body), request.services.backend.maxCommitBytes))
        end = (await send(request, collection, frames)).end;
      return json(importResponse(collection, end ?? (await logEnd(request, collection))));
    },
  }),
  // The collection can be used only once its log is the announced one.
  writeRoute('POST /v1/import/{name}/finish', {
    summary: 'Compare the sent log with the announced one, and open the collection for use',
    answers,
    errors: ['collection_not_found', 'conflict'],
    handle: async (request) => {
      const collection = await findImport(request);
      const { imported: announced } = collection;
      if (announced.finished) return json(importResponse(collection, announcedEnd(collection)));
      const { end, access } = await send(request, collection, []);
      if (end.sequence < announced.sequence)
        throw refusal('conflict', 'importUnfinished', { sequence: end.sequence, announced: announced.sequence });
      if (end.chain_head !== announced.chainHead) throw invalid('the log ends with another chain head than announced');
      if (end.state_hash !== announced.stateHash) throw invalid('the state has another hash than announced');
      await request.services.backend.finishImport(collection, access);
      return json(importResponse({ ...collection, imported: { ...announced, finished: true } }, end));
    },
  }),
];

async function findImport(request: HandlerRequest): Promise<ImportedCollection> {
  const name = collectionName(request.parameters[0]);
  await request.assertMayTake(name);
  return request.services.backend.findImport(request.caller.project, name);
}

function nameOf({ name, origin }: BeginImportRequest): string {
  const wanted = name ?? origin.name;
  if (!isCollectionName(wanted)) throw invalid('$.origin.name cannot be a name here: choose another one in $.name');
  return wanted;
}

/** Throws `validation_error`. The type bounds only the number of characters. */
function assertInGenesis(text: string, path: string): void {
  const bytes = Buffer.from(text);
  if (bytes.length > GENESIS_NAME_BYTES_MAX || bytes.toString() !== text)
    throw invalid(`${path}: expected a text of at most ${GENESIS_NAME_BYTES_MAX} bytes of UTF-8`);
}

/** The current end of the log; for a finished import the announced end, even after later writes. */
async function logEnd(request: HandlerRequest, collection: ImportedCollection): Promise<LogEnd> {
  return collection.imported.finished ? announcedEnd(collection) : (await send(request, collection, [])).end;
}

function announcedEnd({ imported: { sequence, chainHead, stateHash } }: ImportedCollection): LogEnd {
  return { sequence, chain_head: chainHead, state_hash: stateHash };
}

async function send(
  request: HandlerRequest,
  collection: ImportedCollection,
  frames: readonly Uint8Array[],
): Promise<{ readonly end: LogEnd; readonly access: AccessSettings }> {
  const call = { op: 'importFrames', frames, upTo: collection.imported.sequence } as const;
  const { sequence, chainHead, stateHash, access } = await request.call(collection, call);
  return { end: { sequence, chain_head: chainHead, state_hash: stateHash }, access };
}

/** Groups frames into messages of at most `bytesMax` and FRAMES_MAX. A single larger frame is refused where it is sent. */
function* messagesOf(frames: Iterable<Uint8Array>, bytesMax: number): Generator<Uint8Array[]> {
  let message: Uint8Array[] = [];
  let sizeBytes = 0;
  for (const frame of frames) {
    if (message.length === FRAMES_MAX || (message.length > 0 && sizeBytes + frame.length > bytesMax)) {
      yield message;
      message = [];
      sizeBytes = 0;
    }
    message.push(frame);
    sizeBytes += frame.length;
  }
  if (message.length > 0) yield message;
}

const importResponse = ({ name, id, imported }: ImportedCollection, end: LogEnd): ImportResponse => ({
  collection: name,
  id,
  status: imported.finished ? 'finished' : 'importing',
  ...(imported.by && { imported_by: namedActor(imported.by) }),
  ...end,
});
