/** Tests that every `EventLogs` must pass. One call of `eventLogSuite` runs them all over an implementation. */
import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.js';
import { VouchError } from '../../../shared/errors/errors.js';
import { type EventLog, Fenced, LOG_START, type Position, type StoredFrame } from '../../../shared/log/eventLog.js';
import { eventually, expectCode, rejection } from '../expectations.js';
import { type SeededRandom, seededRandom, testSeed } from '../model/random.js';
import { skip } from '../skip.js';
import {
  COLLECTION,
  expectFrames,
  type Fixture,
  fill,
  frameOf,
  type LogStorage,
  readAll,
  same,
  soonMs,
} from './eventLogFrames.js';
import { trimTests } from './eventLogTrim.js';

const SMALL_FRAMES = 2_000;

export function eventLogSuite(name: string, factory: () => Promise<LogStorage>): void {
  describe(`event log: ${name}`, () => {
    let storage: LogStorage;
    beforeEach(async () => {
      storage = await factory();
    });
    afterEach(() => storage.dispose());
    const fixture = (): LogStorage => storage;

    describe('reading', () => readingTests(fixture));
    describe('fencing', () => fencingTests(fixture));
    describe('sizes', () => sizeTests(fixture));
    describe('collections', () => collectionTests(fixture));
    describe('restart', () => restartTests(fixture));
    describe('trimming', () => trimTests(fixture));
    describe('closed', () => closedTests(fixture));
  });
}

function readingTests(fixture: Fixture): void {
  it('an empty log has no head and no frames', async () => {
    const log = await fixture().logs.open(COLLECTION);
    expect(await log.head()).to.equal(undefined);
    expect(await readAll(log)).to.deep.equal([]);
  });

  it('assigns growing positions, and reads the frames back in order', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, 20);
    let before = LOG_START;
    for (const { position } of stored) {
      expect(Number.isSafeInteger(position)).to.equal(true);
      expect(position).to.be.greaterThan(before);
      before = position;
    }
    expectFrames(await readAll(log), stored);
  });

  it('finds every frame by its position, and the last one as head', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, 10);
    for (const frame of stored) expect(same(await log.readAt(frame.position), frame.bytes)).to.equal(true);
    expectFrames([(await log.head())!], [stored[9]!]);
  });

  it('refuses a position that no frame has', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, 2);
    await rejection(log.readAt(stored[1]!.position + 1_000_003));
  });

  it('reads from any position to the end', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, 8);
    for (let i = 0; i < stored.length; i++) expectFrames(await readAll(log, stored[i]!.position), stored.slice(i + 1));
  });

  it('reads up to the last frame that was durable when the read began', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, 5);
    const reading = log.read(LOG_START)[Symbol.asyncIterator]();
    const found = [(await reading.next()).value as StoredFrame];
    await log.append(frameOf(99), stored[4]!.position, soonMs());
    for (let step = await reading.next(); !step.done; step = await reading.next()) found.push(step.value);
    expectFrames(found, stored);
  });

  it('serves several readers at once, after one that stopped midway', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, 30);
    for await (const frame of log.read(LOG_START)) if (frame.position === stored[3]!.position) break;
    const readings = await Promise.all([readAll(log), readAll(log, stored[9]!.position), readAll(log)]);
    expectFrames(readings[0]!, stored);
    expectFrames(readings[1]!, stored.slice(10));
    expectFrames(readings[2]!, stored);
  });

  it('keeps its own copy: the writer may reuse its buffer after the append', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const buffer = new Uint8Array(300);
    const frame = buffer.subarray(100, 200).fill(7);
    const position = await log.append(frame, LOG_START, soonMs());
    buffer.fill(9);
    expect(same(await log.readAt(position), new Uint8Array(100).fill(7))).to.equal(true);
  });

  it('shows every opener the frames of all openers', async () => {
    const [one, two] = [await fixture().logs.open(COLLECTION), await fixture().logs.open(COLLECTION)];
    const stored = await fill(one, 3);
    expectFrames(await readAll(two), stored);
    expectFrames([(await two.head())!], [stored[2]!]);
  });
}

function fencingTests(fixture: Fixture): void {
  /** Two openers, both of which believe that the log ends at the same frame. */
  async function contest(one: EventLog, two: EventLog): Promise<void> {
    const [first] = await fill(one, 1);
    const won = await one.append(frameOf(2), first!.position, soonMs());
    const error = await rejection(two.append(frameOf(3), first!.position, soonMs()));
    expect(error).to.be.instanceOf(Fenced);
    expect((error as Fenced).code).to.equal('unavailable');
    expectFrames(await readAll(two), [first!, { position: won, bytes: frameOf(2) }]);
    const next = await two.append(frameOf(4), won, soonMs());
    expectFrames(await readAll(one, won), [{ position: next, bytes: frameOf(4) }]);
  }

  it('fences the second of two openers, which may append once it has read', async () => {
    await contest(await fixture().logs.open(COLLECTION), await fixture().logs.open(COLLECTION));
  });

  it('fences a writer in another process', async function () {
    const peer = await fixture().peer?.();
    if (peer === undefined) return skip(this, 'this kind of log belongs to one process');
    await contest(await fixture().logs.open(COLLECTION), await peer.open(COLLECTION));
  });

  it('lets exactly one of many racing appends win', async () => {
    const openers = await Promise.all(Array.from({ length: 8 }, () => fixture().logs.open(COLLECTION)));
    const [first] = await fill(openers[0]!, 1);
    const outcomes = await Promise.allSettled(
      openers.map((log, i) => log.append(frameOf(100 + i), first!.position, soonMs())),
    );
    const winner = outcomes.findIndex((outcome) => outcome.status === 'fulfilled');
    for (const [i, outcome] of outcomes.entries())
      if (outcome.status === 'rejected') expect(outcome.reason).to.be.instanceOf(Fenced);
      else expect(i).to.equal(winner);
    const after = await readAll(openers[0]!, first!.position);
    expect(after.map((frame) => Buffer.from(frame.bytes).readUInt32LE(0))).to.deep.equal([100 + winner]);
  });

  it('fences an append after any frame except the last', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, 3);
    const last = stored[2]!.position;
    for (const after of [LOG_START, stored[0]!.position, stored[1]!.position, last + 1_000_003])
      expect(await rejection(log.append(frameOf(9), after, soonMs()))).to.be.instanceOf(Fenced);
    expectFrames(await readAll(log), stored);
  });

  it('fences an append to an empty log that names a frame before it', async () => {
    const log = await fixture().logs.open(COLLECTION);
    expect(await rejection(log.append(frameOf(1), 12_345, soonMs()))).to.be.instanceOf(Fenced);
    expect(await log.head()).to.equal(undefined);
  });

  it('answers unavailable past the deadline, then accepts an append after the current head', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, 2);
    const error = await expectCode(log.append(frameOf(3), stored[1]!.position, systemClock.nowMs() - 1), 'unavailable');
    expect(error).not.to.be.instanceOf(Fenced);
    const head = (await log.head())!;
    const position = await log.append(frameOf(4), head.position, soonMs());
    expect((await log.head())!.position).to.equal(position);
  });
}

function sizeTests(fixture: Fixture): void {
  it('accepts a frame of maxFrameBytes and refuses a larger one', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const [first] = await fill(log, 1);
    const largest = frameOf(2, log.maxFrameBytes);
    await expectCode(log.append(frameOf(3, log.maxFrameBytes + 1), first!.position, soonMs()), 'payload_too_large');
    const position = await log.append(largest, first!.position, soonMs());
    const wanted = [first!, { position, bytes: largest }];
    expectFrames(await readAll(log), wanted);
    expectFrames([(await log.head())!], wanted.slice(1));
    expect(same(await log.readAt(position), largest)).to.equal(true);
  });

  it(`keeps ${SMALL_FRAMES} small frames, and finds any of them`, async () => {
    const random = seededRandom(testSeed());
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, SMALL_FRAMES, 48);
    expectFrames(await readAll(log), stored);
    for (let i = 0; i < 50; i++) {
      const from = random.int(SMALL_FRAMES);
      expect(same(await log.readAt(stored[from]!.position), stored[from]!.bytes)).to.equal(true);
    }
    const from = SMALL_FRAMES - 20;
    expectFrames(await readAll(log, stored[from]!.position), stored.slice(from + 1));
  });

  it('returns frames of every size intact', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const sizes = [4, 5, 7, 8, 15, 16, 17, 255, 256, 4_095, 4_096, 4_097, 65_535, 65_536, 1_048_577, 1_000, 4];
    const stored: StoredFrame[] = [];
    for (const size of sizes) {
      const bytes = frameOf(size, size);
      const position = await log.append(bytes, stored.at(-1)?.position ?? LOG_START, soonMs());
      stored.push({ position, bytes });
    }
    expectFrames(await readAll(log), stored);
  });
}

function collectionTests(fixture: Fixture): void {
  it('keeps the frames of interleaved collections apart', async () => {
    const random: SeededRandom = seededRandom(testSeed());
    const logs = await Promise.all([1, 2, 3, 4, 5].map((id) => fixture().logs.open(id)));
    const stored: StoredFrame[][] = logs.map(() => []);
    for (let i = 0; i < 100; i++) {
      const which = random.int(logs.length);
      const bytes = frameOf(i, 16 + random.int(2_000));
      const after = stored[which]!.at(-1)?.position ?? LOG_START;
      stored[which]!.push({ position: await logs[which]!.append(bytes, after, soonMs()), bytes });
    }
    for (const [i, log] of logs.entries()) expectFrames(await readAll(log), stored[i]!);
  });

  it('appends to many collections at the same time', async () => {
    const logs = await Promise.all(Array.from({ length: 12 }, (_, i) => fixture().logs.open(100 + i)));
    const stored = await Promise.all(logs.map((log) => fill(log, 25, 200)));
    for (const [i, log] of logs.entries()) expectFrames(await readAll(log), stored[i]!);
  });

  it('empties a removed log, and leaves other logs untouched', async () => {
    const { logs } = fixture();
    const [log, neighbour] = [await logs.open(COLLECTION), await logs.open(COLLECTION + 1)];
    await fill(log, 5);
    const kept = await fill(neighbour, 5);
    await log.close();
    await logs.remove(COLLECTION);
    const reopened = await logs.open(COLLECTION);
    expect(await reopened.head()).to.equal(undefined);
    expect(await readAll(reopened)).to.deep.equal([]);
    const refilled = await fill(reopened, 2);
    expectFrames(await readAll(reopened), refilled);
    expectFrames(await readAll(neighbour), kept);
  });

  it('removes a log that was never written, and one that is already removed', async () => {
    const { logs } = fixture();
    await logs.remove(987_654);
    await (await logs.open(COLLECTION)).close();
    await logs.remove(COLLECTION);
    await logs.remove(COLLECTION);
    expect(await (await logs.open(COLLECTION)).head()).to.equal(undefined);
  });

  it('keeps a removed log empty after a restart', async () => {
    const log = await fixture().logs.open(COLLECTION);
    await fill(log, 3);
    await log.close();
    await fixture().logs.remove(COLLECTION);
    const reopened = await (await fixture().restart()).open(COLLECTION);
    expect(await reopened.head()).to.equal(undefined);
  });
}

function restartTests(fixture: Fixture): void {
  it('finds every frame after a restart, and appends after the last', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, 50, 3_000);
    const reopened = await (await fixture().restart()).open(COLLECTION);
    expectFrames([(await reopened.head())!], [stored[49]!]);
    expectFrames(await readAll(reopened), stored);
    expectFrames(await readAll(reopened, stored[30]!.position), stored.slice(31));
    const bytes = frameOf(51);
    const position = await reopened.append(bytes, stored[49]!.position, soonMs());
    expectFrames(await readAll(reopened), [...stored, { position, bytes }]);
  });

  it('fences a stale writer after a restart', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const stored = await fill(log, 3);
    const reopened = await (await fixture().restart()).open(COLLECTION);
    expect(await rejection(reopened.append(frameOf(9), stored[1]!.position, soonMs()))).to.be.instanceOf(Fenced);
    expect(await rejection(reopened.append(frameOf(9), LOG_START, soonMs()))).to.be.instanceOf(Fenced);
    expectFrames(await readAll(reopened), stored);
  });

  it('finds an empty log empty after a restart', async () => {
    await fixture().logs.open(COLLECTION);
    const reopened = await (await fixture().restart()).open(COLLECTION);
    expect(await reopened.head()).to.equal(undefined);
    const stored = await fill(reopened, 1);
    expectFrames(await readAll(reopened), stored);
  });
}

function closedTests(fixture: Fixture): void {
  const uses: Record<string, (log: EventLog, position: Position) => Promise<unknown>> = {
    append: (log, position) => log.append(frameOf(2), position, soonMs()),
    read: (log) => readAll(log),
    readAt: (log, position) => log.readAt(position),
    head: (log) => log.head(),
  };

  for (const [method, use] of Object.entries(uses)) {
    it(`${method} of a closed log answers unavailable`, async () => {
      const log = await fixture().logs.open(COLLECTION);
      const [first] = await fill(log, 1);
      await log.close();
      await expectCode(use(log, first!.position), 'unavailable');
    });
  }

  it('closes twice, and leaves other openers open', async () => {
    const [one, two] = [await fixture().logs.open(COLLECTION), await fixture().logs.open(COLLECTION)];
    const stored = await fill(one, 2);
    await one.close();
    await one.close();
    expectFrames(await readAll(two), stored);
    await two.append(frameOf(3), stored[1]!.position, soonMs());
    expectFrames((await readAll(await fixture().logs.open(COLLECTION))).slice(0, 2), stored);
  });

  it('settles an append that a close interrupts', async () => {
    const log = await fixture().logs.open(COLLECTION);
    const [first] = await fill(log, 1);
    const appending = log.append(frameOf(2, 100_000), first!.position, soonMs()).catch((error: unknown) => {
      expect(error).to.be.instanceOf(VouchError);
      return undefined;
    });
    await log.close();
    const position = await appending;
    const reopened = await fixture().logs.open(COLLECTION);
    if (position !== undefined)
      await eventually('the answered frame is stored', async () => (await reopened.head())?.position === position);
    else expect((await readAll(reopened)).length).to.be.oneOf([1, 2]);
  });
}
