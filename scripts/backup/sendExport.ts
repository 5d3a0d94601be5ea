/** An export from a file into a service. Nothing is made there of a file that does not verify. */
import type { BeginImportRequest, ImportResponse } from '../../coordinator/contract/backup.js';
import { codeOf } from '../../shared/durable.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import { grouped, say } from '../terminal/line.js';
import { showProgress } from '../terminal/progress.js';
import { ExportFile } from '../verifier/source/export.js';
import { type BackupClient, Refused } from './backupClient.js';
import { shownCheck } from './checkedExport.js';
import { behindLength } from './exportFormat.js';

/** Of one request. With the default rate limits, 50 a minute, that is 400 MiB a minute. */
const CHUNK_BYTES = 8 << 20;
const TOO_LARGE = 413;

/** `name`: of the new collection; undefined: as it was called. Throws an Error of one line. */
export async function sendExport(client: BackupClient, path: string, name: string | undefined): Promise<void> {
  const announced = await shownCheck(await open(path));
  const wanted: BeginImportRequest = name === undefined ? announced : { ...announced, name };
  const begun = await client.beginImport(wanted);
  const ended = begun.status === 'finished' ? begun : await transfer(client, path, wanted, begun);
  say('done', 'chain head', `${ended.chain_head}, as in the file`);
  say('done', 'state hash', `${ended.state_hash}, as in the file`);
  const already = begun.status === 'finished' ? ' was restored from this export before' : ' is restored';
  say('done', 'collection', `${ended.collection}${already}: ${grouped(ended.sequence)} events`);
}

async function open(path: string): Promise<ExportFile> {
  try {
    return await ExportFile.open(path);
  } catch (error) {
    throw codeOf(error) === 'ENOENT' ? new Error(`there is no file ${path}`) : error;
  }
}

async function transfer(
  client: BackupClient,
  path: string,
  { sequence }: BeginImportRequest,
  begun: ImportResponse,
): Promise<ImportResponse> {
  if (begun.sequence > 0) say('plain', 'import', `goes on after event ${grouped(begun.sequence)}`);
  const progress = showProgress('import', sequence, 'events');
  progress.advance(begun.sequence);
  const file = await ExportFile.open(path);
  let reached = begun.sequence;
  try {
    for await (const chunk of chunks(file, begun.sequence)) {
      const { sequence: now } = await send(client, begun.collection, chunk);
      progress.advance(now - reached);
      reached = now;
    }
    progress.finish();
  } catch (error) {
    progress.abandon();
    throw error;
  } finally {
    await file.close();
  }
  return client.finishImport(begun.collection);
}

/** The frames that are not there yet, behind their lengths, as many together as make a request. */
async function* chunks(file: ExportFile, reached: number): AsyncGenerator<Buffer[]> {
  let chunk: Buffer[] = [];
  let sizeBytes = 0;
  for await (const { bytes } of file.frames()) {
    const { firstSequence, events } = readFrameHeader(bytes);
    if (reached > 0 && firstSequence + events - 1 <= reached) continue;
    if (chunk.length > 0 && sizeBytes + bytes.length > CHUNK_BYTES) {
      yield chunk;
      chunk = [];
      sizeBytes = 0;
    }
    // A copy: the file's own bytes are read over.
    chunk.push(behindLength(bytes));
    sizeBytes += bytes.length;
  }
  if (chunk.length > 0) yield chunk;
}

/** In halves where the service takes no body as large. */
async function send(client: BackupClient, name: string, frames: readonly Buffer[]): Promise<ImportResponse> {
  try {
    return await client.importLog(name, Buffer.concat(frames));
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== TOO_LARGE) throw error;
    if (frames.length === 1)
      throw new Error(`the service takes no body as large as one commit of the log; raise its VOUCH_BODY_BYTES`);
    const half = frames.length >> 1;
    await send(client, name, frames.slice(0, half));
    return send(client, name, frames.slice(half));
  }
}
