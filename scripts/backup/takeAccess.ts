/** Copies the access log of a collection from a service into a file. */
import { basename } from 'node:path';
import { checkedFrames, framesIn } from '../../coordinator/body/frames.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { StreamedFile } from '../../shared/files/durable.js';
import { decodeAccessFrame } from '../../shared/log/accessFrame.js';
import { type AccessHead, accessHeadIn, Refused, verifyAccessLog } from '../../verifier/index.js';
import '../../verifier/node/index.js';
import type { ServiceClient } from '../service/serviceClient.js';
import { counted, grouped, say } from '../terminal/line.js';
import { type Progress, withProgress } from '../terminal/progress.js';
import { assertFree } from './assertFree.js';
import { withLength } from './exportWriter.js';

/** Copies at least the entries from before the call; reads may continue meanwhile. Throws an Error of one line. */
export async function takeAccess(client: ServiceClient, collection: string, path: string): Promise<void> {
  await assertFree(path);
  const query = `collection=${encodeURIComponent(collection)}`;
  const claim = accessHeadIn(await client.ask('GET', `/v1/access?${query}&limit=1`), 'the answer of the service');
  if (claim.size === 0) throw new Error(`the access log of ${collection} has no entry`);
  const file = await StreamedFile.begin(path);
  try {
    const head = await withProgress('export', claim.size, ['entry', 'entries'], (progress) =>
      copied(written(client, query, { file, size: claim.size, progress }), claim),
    );
    await file.finish();
    say('done', 'chain head', head.chainHead);
    say('done', 'root', head.root);
    say(
      'done',
      'file',
      `${basename(path)}: ${counted(head.size, 'entry', 'entries')}, ${counted(file.sizeBytes, 'byte')}`,
    );
  } catch (error) {
    await file.abandon();
    throw error instanceof Malformed || error instanceof Refused ? unverified(error.message) : error;
  }
}

const unverified = (reason: string): Error => new Error(`what the service sends does not verify: ${reason}`);

/** Returns the end of the copied log. Throws if it does not verify, or does not begin with what the service claimed. */
async function copied(frames: AsyncIterable<Uint8Array>, claim: AccessHead): Promise<AccessHead> {
  const { head, removed, wrong } = await verifyAccessLog(frames, undefined, [claim]);
  if (wrong.length > 0) throw unverified(wrong[0]!.reason);
  if (removed !== undefined)
    say('plain', 'kept', `from entry ${grouped(removed.size + 1)} on; the others were removed`);
  return head;
}

interface Copy {
  readonly file: StreamedFile;
  /** Number of entries to copy. */
  readonly size: number;
  readonly progress: Progress;
}

/** Yields the frames of the log, each after it was written. */
async function* written(
  client: ServiceClient,
  query: string,
  { file, size, progress }: Copy,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let last = 0; last < size; ) {
    const from = last === 0 ? '' : `&from=${last + 1}`;
    const piece = await client.send('GET', `/v1/access/log?${query}${from}`);
    const frames = [...framesIn(checkedFrames(piece))];
    if (frames.length === 0) return;
    for (const frame of frames) {
      const { before, entries } = decodeAccessFrame(frame);
      await file.write(withLength(frame));
      yield frame;
      last = before.size + entries.length;
      progress.advance(entries.length);
    }
  }
}
