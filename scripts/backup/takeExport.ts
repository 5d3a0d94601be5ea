/** Exports a collection's log from a service into a file. */
import { basename } from 'node:path';
import { checkedFrames, framesIn } from '../../coordinator/body/frames.js';
import type { ExportResponse } from '../../coordinator/contract/backup.js';
import { systemClock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { move } from '../../shared/files/durable.js';
import { toHex } from '../../shared/hashing/hash.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import { openExport } from '../../verifier/node/index.js';
import type { ServiceClient } from '../service/serviceClient.js';
import { commandText } from '../terminal/commandLine.js';
import { counted, grouped, say } from '../terminal/line.js';
import { type Progress, withProgress } from '../terminal/progress.js';
import { assertFree } from './assertFree.js';
import { shownCheck } from './checkedExport.js';
import { ExportWriter, headerOf } from './exportWriter.js';

/** The ending of an unfinished export, which a later call resumes. */
const UNFINISHED = '.part';

/** Exports the collection's state at the begin; writes may continue meanwhile. Throws an Error of one line. */
export async function takeExport(client: ServiceClient, collection: string, file: string): Promise<void> {
  await assertFree(file);
  const facts = await client.ask<ExportResponse>('GET', `/v1/export?collection=${encodeURIComponent(collection)}`);
  const writer = await ExportWriter.open(file + UNFINISHED, headerOf(facts, systemClock.nowMs()));
  try {
    await fill(client, facts, writer);
  } catch (error) {
    await writer.abandon();
    throw error instanceof Malformed ? new Error(`what the service sends does not verify: ${error.message}`) : error;
  }
  const { sequence, chain_head, log_root, state_hash, checkpoint } = facts;
  const { frames, end } = writer;
  const log_bytes = end.logBytes;
  const trailer = { frames, sequence, log_bytes, chain_head, log_root, state_hash, checkpoint };
  await writer.finish(trailer);
  const openKeys = await check(file + UNFINISHED);
  await move(file + UNFINISHED, file);
  say('done', 'chain head', chain_head);
  say('done', 'state hash', state_hash);
  say('done', 'file', `${basename(file)}: ${counted(frames, 'commit')}, ${counted(log_bytes, 'byte')} of log`);
  const listed = commandText('verify', `log ${basename(file)} --keys`);
  if (openKeys > 0) say('plain', 'keys', `it needs ${counted(openKeys, 'vault key')}: ${listed} lists them`);
}

/**
 * Verifies the written file, with its state and log root, which were not checked before. Returns the number of vault keys
 * that it needs.
 */
async function check(file: string): Promise<number> {
  try {
    return (await shownCheck(await openExport(file))).openKeys;
  } catch (error) {
    throw new Error(`the written file does not verify: ${messageOf(error)}`);
  }
}

async function fill(client: ServiceClient, facts: ExportResponse, writer: ExportWriter): Promise<void> {
  const last = lastOf(writer);
  if (last > facts.sequence)
    throw new Error(`the unfinished file ends with event ${last}, and the collection has ${facts.sequence}`);
  if (last > 0) say('plain', 'export', `continues after event ${grouped(last)}`);
  // The first event, number 0, creates the collection.
  await withProgress('export', facts.sequence + 1, ['event', 'events'], (progress) => {
    progress.advance(writer.end.nextSequence);
    return transfer(client, facts, writer, progress);
  });
  if (toHex(writer.end.chainHead) !== facts.chain_head)
    throw new Malformed('the log ends with another chain head than the checkpoint says', 0);
}

async function transfer(
  client: ServiceClient,
  { collection, sequence }: ExportResponse,
  writer: ExportWriter,
  progress: Progress,
): Promise<void> {
  while (lastOf(writer) < sequence) {
    const path = `/v1/export/log?collection=${encodeURIComponent(collection)}&from=${writer.end.nextSequence}`;
    // Frames from that event on, each after its length; an empty body at the end of the log.
    const frames = [...framesIn(checkedFrames(await client.send('GET', path)))];
    if (frames.length === 0) throw new Malformed(`the log ends before event ${sequence}`, 0);
    for (const frame of frames) {
      // Frames written after the export began are not included.
      if (readFrameHeader(frame).firstSequence > sequence) break;
      const before = writer.end.nextSequence;
      await writer.append(frame);
      progress.advance(writer.end.nextSequence - before);
    }
  }
}

const lastOf = ({ end }: ExportWriter): number => Math.max(end.nextSequence - 1, 0);
