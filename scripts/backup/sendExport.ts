/** Imports an export into a service, once it has verified. */
import type { BeginImportRequest, ImportResponse } from '../../coordinator/contract/backup.js';
import { ifThere } from '../../shared/files/durable.js';
import { toHex } from '../../shared/hashing/hash.js';
import { EMPTY_LOG } from '../../shared/log/chain.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import type { ExportFile } from '../../verifier/index.js';
import { openExport } from '../../verifier/node/index.js';
import { Refused, type ServiceClient } from '../service/serviceClient.js';
import { counted, grouped, say } from '../terminal/line.js';
import { withProgress } from '../terminal/progress.js';
import { assertNoOtherFile } from '../verify/files.js';
import { shownCheck } from './checkedExport.js';
import { withLength } from './exportWriter.js';

/** The size of a request. The default rate limits allow 50 a minute, which is 400 MiB a minute. */
const CHUNK_BYTES = 8 << 20;
const TOO_LARGE = 413;

/** `name`: the name of the new collection; undefined: the old one. Throws an Error of one line. */
export async function sendExport(client: ServiceClient, path: string, name: string | undefined): Promise<void> {
  const source = await ifThere(openExport(path));
  if (source === undefined) throw new Error(`the file ${path} does not exist`);
  await assertNoOtherFile('export', path);
  const { announced } = await shownCheck(source);
  const wanted: BeginImportRequest = name === undefined ? announced : { ...announced, name };
  const begun = await client.ask<ImportResponse>('POST', '/v1/import', wanted);
  const ended = begun.status === 'finished' ? begun : await transfer(client, path, wanted, begun);
  say('done', 'chain head', `${ended.chain_head}, as in the file`);
  say('done', 'state hash', `${ended.state_hash}, as in the file`);
  const already = begun.status === 'finished' ? ' was restored from this export before' : ' is restored';
  // An empty log also has sequence 0.
  const events = ended.chain_head === toHex(EMPTY_LOG.chainHead) ? 0 : ended.sequence + 1;
  say('done', 'collection', `${ended.collection}${already}: ${counted(events, 'event')}`);
}

async function transfer(
  client: ServiceClient,
  path: string,
  { sequence }: BeginImportRequest,
  begun: ImportResponse,
): Promise<ImportResponse> {
  if (begun.sequence > 0) say('plain', 'import', `continues after event ${grouped(begun.sequence)}`);
  const file = await openExport(path);
  // The first event, number 0, creates the collection.
  await withProgress('import', sequence + 1, ['event', 'events'], async (progress) => {
    let done = begun.sequence === 0 ? 0 : begun.sequence + 1;
    progress.advance(done);
    for await (const chunk of chunks(file, begun.sequence)) {
      const { sequence: last } = await send(client, begun.collection, chunk);
      progress.advance(last + 1 - done);
      done = last + 1;
    }
  }).finally(() => file.close());
  return client.ask('POST', `/v1/import/${begun.collection}/finish`);
}

/** The frames after event `last` with their lengths, in chunks of the size of a request. */
async function* chunks(file: ExportFile, last: number): AsyncGenerator<Buffer[]> {
  let chunk: Buffer[] = [];
  let sizeBytes = 0;
  for await (const { bytes } of file.frames()) {
    const { firstSequence, events } = readFrameHeader(bytes);
    if (last > 0 && firstSequence + events - 1 <= last) continue;
    if (chunk.length > 0 && sizeBytes + bytes.length > CHUNK_BYTES) {
      yield chunk;
      chunk = [];
      sizeBytes = 0;
    }
    // A copy: the file reuses its buffer.
    chunk.push(withLength(bytes));
    sizeBytes += bytes.length;
  }
  if (chunk.length > 0) yield chunk;
}

/** Sends the frames, in halves if the body is too large for the service. The service skips frames that it has. */
async function send(client: ServiceClient, name: string, frames: readonly Buffer[]): Promise<ImportResponse> {
  try {
    return await client.ask('POST', `/v1/import/${name}/log`, Buffer.concat(frames));
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== TOO_LARGE) throw error;
    if (frames.length === 1)
      throw new Error(`the service takes no body as large as one commit of the log; raise its VOUCH_BODY_BYTES`);
    const half = frames.length >> 1;
    await send(client, name, frames.slice(0, half));
    return send(client, name, frames.slice(half));
  }
}
