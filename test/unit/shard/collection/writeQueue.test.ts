/** The queue of writes before a commit: combination and refusal. */
import { expect } from 'chai';
import { WriteQueue } from '../../../../shard/collection/writeQueue.js';
import { type Overloaded, overloaded } from '../../../../shared/errors/overloaded.js';
import { insertOf, soon } from '../../../support/rigs/engine.js';
import { TestClock } from '../../../support/rigs/testEdge.js';

const QUEUE_MS = 500;
const KIB = 1024;
const FRAME_BYTES = 16 * KIB * KIB;
const METADATA_BYTES = 64 * KIB;

describe('a queue of writes', () => {
  let clock: TestClock;
  let queue: WriteQueue;
  beforeEach(() => {
    clock = new TestClock();
    queue = new WriteQueue(clock, { maxQueueWaitMs: QUEUE_MS, refusal: overloaded }, METADATA_BYTES);
  });

  /** Reason of the refusal; undefined if the write waits. */
  function add(sizeKib: number, isHeld = false): string | undefined {
    try {
      void queue.add(insertOf(new Uint8Array(sizeKib * KIB)), soon(), isHeld);
      return undefined;
    } catch (error) {
      return (error as Overloaded).reason;
    }
  }

  /** Number of writes in a commit. It takes a millisecond for each KiB; other writes are added half-way. */
  function commit(meanwhile: (lastsMs: number) => void = () => undefined): number {
    const taken = queue.take(FRAME_BYTES);
    const lastsMs = taken.reduce((sum, { sizeBytes }) => sum + sizeBytes / KIB, 0);
    clock.advance(lastsMs / 2);
    meanwhile(lastsMs);
    clock.advance(lastsMs / 2);
    queue.committed();
    return taken.length;
  }

  it('combines small writes up to a size, and gives out larger ones alone', () => {
    for (const sizeKib of [1, 1, 1_000, 1_000, 100, 4_000, 1]) add(sizeKib);
    expect([commit(), commit(), commit(), commit()]).to.deep.equal([4, 1, 1, 1]);
    expect(queue.isEmpty).to.equal(true);
  });

  it('lets a few long writes wait, and refuses all once the oldest has waited too long', () => {
    add(4_000);
    const meanwhile: (string | undefined)[] = [];
    commit(() => {
      for (let i = 0; i < 4; i++) meanwhile.push(add(1_000));
    });
    expect(meanwhile).to.deep.equal([undefined, undefined, undefined, undefined]);
    expect(add(1), 'they came 2,000 ms ago').to.equal('write_waited');
  });

  it('refuses writes that would wait too long, judged by earlier waits', () => {
    add(100);
    let refused = 0;
    /** Twice as much as can be written meanwhile. */
    const flood = (lastsMs: number): void => {
      for (let ms = 0; ms < lastsMs; ms += 5) refused += add(10) === undefined ? 0 : 1;
    };
    for (let commits = 0; commits < 30; commits++) commit(flood);
    expect(refused).to.be.above(100);
    let waiting = 0;
    while (!queue.isEmpty) waiting += commit();
    expect(waiting * 10, 'KiB, where 500 ms are allowed').to.be.within(100, 1_500);
    expect(add(10), 'it is empty').to.equal(undefined);
  });

  it('lets a commit wait until the writes of the last one are followed by as many', () => {
    add(1);
    expect(queue.isReady(), 'a lone write').to.equal(true);
    add(1);
    commit(() => add(1));
    expect(queue.isReady(), 'one of three').to.equal(false);
    add(1);
    add(1);
    expect(queue.isReady(), 'three').to.equal(true);
  });

  it('ignores held writes in its estimate, and refuses none of them', () => {
    for (let i = 0; i < 20; i++) expect(add(10, true)).to.equal(undefined);
    clock.advance(60_000);
    expect(add(10, true)).to.equal(undefined);
    expect(commit()).to.equal(21);
    for (let i = 0; i < 20; i++) expect(add(10)).to.equal(undefined);
  });
});
