/** A collection's log from a service into a file. */
import { access } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { splitFrames } from '../../coordinator/body/frames.js';
import type { ExportResponse } from '../../coordinator/contract/backup.js';
import { systemClock } from '../../shared/clock.js';
import { move } from '../../shared/durable.js';
import { messageOf } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import { Malformed } from '../../shared/malformed.js';
import { grouped, say } from '../terminal/line.js';
import { type Progress, showProgress } from '../terminal/progress.js';
import { ExportFile } from '../verifier/source/export.js';
import type { BackupClient } from './backupClient.js';
import { shownCheck } from './checkedExport.js';
import { type ExportTrailer, headerOf } from './exportFormat.js';
import { ExportWriter } from './exportWriter.js';

/** Until the export is whole it stands beside under this ending, and is gone on with from there. */
const UNFINISHED = '.part';

/**
 * The export ends with what the collection was when this began; it may be written to meanwhile. Throws an Error of one
 * line.
 */
export async function takeExport(client: BackupClient, collection: string, file: string): Promise<void> {
  await assertFree(file);
  const facts = await client.exportFacts(collection);
  const writer = await ExportWriter.open(file + UNFINISHED, headerOf(facts, systemClock.nowMs()));
  try {
    await fill(client, facts, writer);
  } catch (error) {
    await writer.abandon();
    throw error instanceof Malformed ? new Error(`what the service sends does not verify: ${error.message}`) : error;
  }
  const trailer = trailerOf(facts, writer);
  await writer.finish(trailer);
  await check(file + UNFINISHED);
  await move(file + UNFINISHED, file);
  say('done', 'chain head', trailer.chain_head);
  say('done', 'state hash', trailer.state_hash);
  say(
    'done',
    'file',
    `${basename(file)}: ${grouped(trailer.frames)} commits, ${grouped(trailer.log_bytes)} bytes of log`,
  );
}

/** What is kept for the day it is needed must hold today: state and log root were the service's word so far. */
async function check(file: string): Promise<void> {
  try {
    await shownCheck(await ExportFile.open(file));
  } catch (error) {
    throw new Error(`what came of it does not verify: ${messageOf(error)}`);
  }
}

async function assertFree(file: string): Promise<void> {
  if (await isThere(file)) throw new Error(`${file} is there already: choose another name`);
  if (!(await isThere(dirname(file)))) throw new Error(`there is no folder ${dirname(file)}`);
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function fill(client: BackupClient, facts: ExportResponse, writer: ExportWriter): Promise<void> {
  const last = lastOf(writer);
  if (last > facts.sequence)
    throw new Error(`the unfinished file goes on to event ${last}, and the collection has ${facts.sequence}`);
  if (last > 0) say('plain', 'export', `goes on after event ${grouped(last)}`);
  const progress = showProgress('export', facts.sequence, 'events');
  progress.advance(last);
  try {
    await transfer(client, facts, writer, progress);
    progress.finish();
  } catch (error) {
    progress.abandon();
    throw error;
  }
  if (toHex(writer.end.chainHead) !== facts.chain_head)
    throw new Malformed('the log ends with another chain head than the checkpoint says', 0);
}

async function transfer(
  client: BackupClient,
  { collection, sequence }: ExportResponse,
  writer: ExportWriter,
  progress: Progress,
): Promise<void> {
  while (lastOf(writer) < sequence) {
    const frames = splitFrames(await client.exportLog(collection, writer.end.nextSequence));
    if (frames.length === 0) throw new Malformed(`the log ends before event ${sequence}`, 0);
    for (const frame of frames) {
      // What was written since.
      if (readFrameHeader(frame).firstSequence > sequence) break;
      const before = lastOf(writer);
      await writer.append(frame);
      progress.advance(lastOf(writer) - before);
    }
  }
}

const lastOf = ({ end }: ExportWriter): number => Math.max(end.nextSequence - 1, 0);

const trailerOf = (facts: ExportResponse, { end, frames }: ExportWriter): ExportTrailer => ({
  frames,
  sequence: facts.sequence,
  log_bytes: end.logBytes,
  chain_head: facts.chain_head,
  log_root: facts.log_root,
  state_hash: facts.state_hash,
  checkpoint: facts.checkpoint,
});
