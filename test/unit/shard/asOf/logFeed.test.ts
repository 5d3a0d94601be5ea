/** The transfer of a log to the as-of thread: with backpressure, a clean end, and copied buffers. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { expect } from 'chai';
import { type FeedMessage, feedLog, type PackedFrames } from '../../../../shard/asOf/logFeed.js';
import { unwrapAsOf } from '../../../../shard/asOf/messages.js';
import type { FrameSource } from '../../../../shard/snapshot/opening.js';
import { systemClock } from '../../../../shared/clock.js';
import { EMPTY_LOG } from '../../../../shared/log/chain.js';
import { genesisOf } from '../../../../shared/log/event.js';
import type { StoredFrame } from '../../../../shared/log/eventLog.js';
import { buildFrame } from '../../../../shared/log/frame.js';
import type { ThreadOutcome } from '../../../../shared/process/workerThread.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { eventually } from '../../../support/expectations.js';
import { configOf } from '../../../support/rigs/engine.js';

const FRAMES = 128;
const FRAME_BYTES = 128 << 10;
const IN_FLIGHT_BYTES = 4 << 20;

const BARE = { metadata: null, text: null, externalId: null };

describe('the transfer of a log to another thread', () => {
  let frames: StoredFrame[];
  let sent: PackedFrames[];
  let read: number;
  let reader: MessagePort;

  before(async () => {
    frames = [];
    let end = EMPTY_LOG;
    const config = configOf(1);
    for (let sequence = 0; sequence < FRAMES; sequence++) {
      const dated = { sequence, timeMs: config.createdAtMs, actor: null };
      const described = { tag: 0, requestId: null, vector: new Uint8Array(FRAME_BYTES), ...BARE };
      const event = { type: 'insert', ...dated, recordId: sequence, ...described } as const;
      const frame = await buildFrame([sequence === 0 ? genesisOf(config) : event], end, sequence, nextTurn);
      frames.push({ position: sequence + 1, bytes: frame.bytes });
      end = frame.end;
    }
  });
  beforeEach(() => {
    sent = [];
    read = 0;
  });
  afterEach(() => reader.close());

  /** Resolves to the outcome of the reading; undefined if the port was closed before. */
  async function run(
    after: number,
    upTo: number,
    log: FrameSource = { read: stored },
  ): Promise<ThreadOutcome<null> | undefined> {
    const { port1, port2 } = new MessageChannel();
    reader = port1;
    let outcome: ThreadOutcome<null> | undefined;
    const closed = new Promise<void>((resolve) => reader.on('close', resolve));
    reader.on('message', (message: FeedMessage) => {
      if ('ended' in message) outcome = message;
      else sent.push(message);
    });
    await feedLog(log, systemClock, { after, upTo, inFlightBytes: undefined, port: port2 });
    await closed;
    return outcome;
  }

  async function* stored(after: number): AsyncGenerator<StoredFrame> {
    for (const frame of frames.slice(after)) {
      read++;
      yield frame;
    }
  }
  const sentBytes = (): number => sent.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const positions = (): number[] => sent.flatMap((packed) => [...packed.positions]);
  const takeAll = (): void => {
    for (const { bytes } of sent.splice(0)) reader.postMessage(bytes.length);
  };

  it('is as fast as its reader, in order and complete', async () => {
    const taken: number[] = [];
    let done = false;
    const ended = run(0, FRAMES - 1).then(() => {
      done = true;
    });
    while (!done) {
      await eventually('frames have arrived', () => sentBytes() >= IN_FLIGHT_BYTES || done);
      await nextTurn();
      expect(sentBytes()).to.be.below(IN_FLIGHT_BYTES + 4 * FRAME_BYTES);
      taken.push(...positions());
      for (const {
        positions: [first],
        lengths: [length],
        bytes,
      } of sent)
        expect(bytes.subarray(0, length!)).to.deep.equal(frames[first! - 1]!.bytes);
      takeAll();
      await nextTurn();
    }
    await ended;
    taken.push(...positions());
    expect(taken).to.deep.equal(frames.map(({ position }) => position));
  });

  it("sends copies, so that the log's own buffers stay usable", async () => {
    await run(FRAMES - 2, FRAMES - 1);
    const stays = new Set(frames.map(({ bytes }) => bytes.buffer));
    for (const { bytes } of sent) {
      expect(stays.has(bytes.buffer)).to.equal(false);
      structuredClone(bytes, { transfer: [bytes.buffer] });
    }
    expect(frames.at(-1)!.bytes.length).to.be.above(FRAME_BYTES);
  });

  it('reads from the given position to the wanted event', async () => {
    await run(2, 5);
    expect(positions()).to.deep.equal([3, 4, 5, 6]);
    expect(read).to.equal(4);
  });

  it('stops reading when the port closes, also during backpressure', async () => {
    const ended = run(0, FRAMES - 1);
    await eventually('the feed stops', () => sentBytes() >= IN_FLIGHT_BYTES);
    reader.close();
    await ended;
    expect(read).to.be.below(FRAMES / 2);
  });

  it('ends with the error of the log', async () => {
    const outcome = await run(0, 5, {
      // biome-ignore lint/correctness/useYield: it breaks before there is anything to yield.
      read: async function* () {
        throw new Error('the disk is gone');
      },
    });
    expect(() => unwrapAsOf(outcome!)).to.throw('the disk is gone');
    expect(sent).to.deep.equal([]);
  });
});
