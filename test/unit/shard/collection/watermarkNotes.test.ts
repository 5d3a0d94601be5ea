/** Watermark notes: a few at a time, beside all other work. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { type Noting, WatermarkNotes } from '../../../../shard/collection/watermarkNotes.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import { Metrics } from '../../../../shared/metrics/metrics.js';
import { eventually } from '../../../support/expectations.js';

describe('the watermark notes of a shard', () => {
  const bucket = new MemoryBucket({ logger: silentLogger });
  const notesWhile = (mayAnswer: () => boolean, everyMs = 0): WatermarkNotes =>
    new WatermarkNotes(bucket, mayAnswer, { metrics: new Metrics('shard'), logger: silentLogger }, everyMs);
  after(() => bucket.close());

  it('are written one at a time, and retried after a failure', async () => {
    const notes = notesWhile(() => true);
    let atOnce = 0;
    let most = 0;
    let failures = 2;
    const done: number[] = [];
    const noting = (n: number): Noting => ({
      note: async () => {
        most = Math.max(most, ++atOnce);
        await nextTurn();
        atOnce--;
        if (failures-- > 0) throw unavailable('out of reach');
        done.push(n);
      },
    });
    for (let n = 0; n < 5; n++) notes.later(noting(n));
    await eventually('every watermark is noted', () => done.length === 5);
    // Failed notes go to the end of the queue.
    expect([done, most, notes.waiting]).to.deep.equal([[2, 3, 4, 0, 1], 1, 0]);
  });

  it('wait while the shard may not answer, and are skipped for released collections', async () => {
    let mayAnswer = false;
    let asked = 0;
    const notes = notesWhile(() => asked++ >= 0 && mayAnswer);
    const done: string[] = [];
    const [kept, ended, gone] = ['kept', 'ended', 'gone'].map((name) => ({ note: async () => void done.push(name) }));
    for (const noting of [kept, ended, gone]) notes.later(noting!);
    await eventually('their turns have come', () => asked > 3);
    expect([done, notes.waiting]).to.deep.equal([[], 3]);
    notes.forget(gone!);
    mayAnswer = true;
    await notes.beforeClose(ended!);
    expect(done).to.include('ended');
    await eventually('the other watermark is noted', () => notes.waiting === 0);
    // No note of this collection waits any more.
    await notes.beforeClose(ended!);
    expect(done.sort()).to.deep.equal(['ended', 'kept']);
  });

  it('are at most 200 in a round, and the others follow in the next', async () => {
    let noted = 0;
    const afterRounds: number[] = [];
    // Longer than a turn of the event loop, so that a round never begins in the turn of the one before.
    const notes = notesWhile(() => true, 400);
    const note = async (): Promise<void> => {
      // A round without waiting ends before the event loop turns.
      if (noted++ % 200 === 0) setImmediate(() => afterRounds.push(noted));
    };
    for (let n = 0; n < 450; n++) notes.later({ note });
    await eventually('every watermark is noted', () => afterRounds.length === 3);
    expect([afterRounds, notes.waiting]).to.deep.equal([[200, 400, 450], 0]);
  });
});
