// Covers: shared/log/jetStreamLog.ts, shared/log/jetStreamLosses.ts
/**
 * Barriers: messages between the frames of a log in JetStream, by which a new owner reads the whole log even from a
 * stale replica.
 */
import { expect } from 'chai';
import type { Msg } from 'nats';
import { systemClock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { readBarrier, writeBarrier } from '../../../../shared/log/barrier.js';
import { EMPTY_LOG, type LogEnd } from '../../../../shared/log/chain.js';
import type { Event } from '../../../../shared/log/event.js';
import { type EventLog, LOG_START, type Position } from '../../../../shared/log/eventLog.js';
import { buildFrame, type Frame } from '../../../../shared/log/frame.js';
import { JetStreamLogs } from '../../../../shared/log/jetStream.js';
import { JetStreamLosses } from '../../../../shared/log/jetStreamLosses.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { ClusterConnection } from '../../../../shared/nats/natsConnection.js';
import { JETSTREAM, JetStreamRefusal } from '../../../../shared/nats/natsError.js';
import { everyEvent } from '../../../fuzz/targets/samples.js';
import { expectCode } from '../../../support/expectations.js';
import { seededRandom } from '../../../support/model/random.js';

const ID = 7;
const SUBJECT = `vouch.log.0.${ID}`;
const [genesis, first, second, third] = everyEvent(seededRandom(1)) as [Event, Event, Event, Event];
const soonMs = (): number => systemClock.nowMs() + 10_000;
const frameOf = (events: readonly Event[], before: LogEnd): Promise<Frame> =>
  buildFrame(events, before, events.length, async () => undefined);

interface Asked {
  readonly seq?: number;
  readonly next_by_subj?: string;
  readonly last_by_subj?: string;
}

/** A stream of three servers, in which a stale replica may answer requests to the leader. */
class StreamOfThree {
  readonly messages: Uint8Array[] = [];
  /** Number of messages that the stale replica has; undefined if the leader answers. */
  deposedHas: number | undefined;
  refused = 0;
  /** Number of publications that are lost from now on. */
  lost = 0;
  asked = 0;

  /** Number of messages that an administrator has removed. */
  removed = 0;

  get losses(): JetStreamLosses {
    return new JetStreamLosses(this.#connection(), 1);
  }

  get logs(): JetStreamLogs {
    return new JetStreamLogs(this.#connection(), 1);
  }

  publish(bytes: Uint8Array, expected?: Position): Position {
    if (expected !== undefined && expected !== this.messages.length) {
      this.refused++;
      throw new JetStreamRefusal(JETSTREAM.wrongLastSequence, `wrong last sequence: ${this.messages.length}`, false);
    }
    return this.messages.push(bytes.slice());
  }

  #connection(): ClusterConnection {
    const stub = {
      nc: {
        info: { cluster: 'three' },
        request: async (to: string, body: string) => this.#answer(to, JSON.parse(body)),
      },
      streams: {
        publish: async (_: string, bytes: Uint8Array, { after }: { after?: Position }) => {
          if (this.lost-- > 0) throw unavailable('lost');
          return this.publish(bytes, after);
        },
      },
      jsm: { streams: { info: async () => this.#info() } },
      api: '$JS.API',
      maxPayloadBytes: 1 << 20,
      connected: true,
      closed: false,
      clock: systemClock,
      logger: silentLogger,
      call: <T>(work: () => Promise<T>): Promise<T> => work(),
      untilConnected: async () => undefined,
    };
    return stub as unknown as ClusterConnection;
  }

  #info(): object {
    const messages = this.messages.length - this.removed;
    return { created: '', state: { last_seq: this.messages.length, messages, subjects: { [SUBJECT]: messages } } };
  }

  #answer(to: string, asked: Asked): Pick<Msg, 'json' | 'headers' | 'data'> {
    this.asked++;
    const isOfLeader = to.includes('.STREAM.MSG.GET.');
    const known = isOfLeader ? (this.deposedHas ?? this.messages.length) : this.messages.length;
    const seq = asked.last_by_subj === undefined ? asked.seq! : known;
    const bytes = seq >= 1 && seq <= known ? this.messages[seq - 1] : undefined;
    const subject = SUBJECT;
    const message = bytes && { subject, seq, data: Buffer.from(bytes).toString('base64') };
    const error = { code: 404, err_code: JETSTREAM.noMessageFound, description: 'no message found' };
    const headers = {
      code: bytes ? 0 : 404,
      has: () => true,
      get: (name: string) => (/Seq/.test(name) ? seq : subject),
    };
    return {
      json: <T>() => (message ? { message } : { error }) as T,
      headers: headers as unknown as NonNullable<Msg['headers']>,
      data: bytes ?? new Uint8Array(),
    };
  }
}

describe('a barrier in a log of three NATS servers', () => {
  let stream: StreamOfThree;
  let log: EventLog;
  let one: Frame;
  let two: Frame;
  let three: Frame;

  before(async () => {
    one = await frameOf([genesis, first], EMPTY_LOG);
    two = await frameOf([second], one.end);
    three = await frameOf([third], two.end);
  });
  beforeEach(async () => {
    stream = new StreamOfThree();
    log = await stream.logs.open(ID);
  });

  const positions = async (after: Position = LOG_START): Promise<Position[]> => {
    const found: Position[] = [];
    for await (const { position } of log.read(after)) found.push(position);
    return found;
  };
  const append = (frame: Frame, after: Position): Promise<Position> => log.append(frame.bytes, after, soonMs());

  it('shows all durable frames although a stale replica answers', async () => {
    for (const { bytes } of [one, two, three]) stream.publish(bytes);
    stream.deposedHas = 1;
    expect(await positions(), 'as that server knows it').to.deep.equal([1]);
    await log.barrier();
    expect(await positions(1)).to.deep.equal([2, 3]);
    expect((await log.head())?.position, 'as that server knows it').to.equal(1);
  });

  it('shows the beginning of a log that is empty on the stale replica', async () => {
    stream.publish(one.bytes);
    stream.deposedHas = 0;
    expect(await positions()).to.deep.equal([]);
    await log.barrier();
    expect(await positions()).to.deep.equal([1]);
  });

  it('is still waited for after a read that ended before it', async () => {
    for (const { bytes } of [one, two]) stream.publish(bytes);
    stream.deposedHas = 1;
    await log.barrier();
    for await (const { position } of log.read(LOG_START)) if (position === 1) break;
    expect(await positions()).to.deep.equal([1, 2]);
  });

  it('is not a frame, and appends continue behind any number of barriers without a retry', async () => {
    await log.barrier();
    expect(await log.head()).to.equal(undefined);
    expect(await positions()).to.deep.equal([]);
    const at = [await append(one, LOG_START)];
    for (const frame of [two, three]) {
      await log.barrier();
      await log.barrier();
      expect(await positions(at.at(-1)!)).to.deep.equal([]);
      expect((await log.head())?.position).to.equal(at.at(-1));
      at.push(await append(frame, at.at(-1)!));
    }
    expect(at).to.deep.equal([2, 5, 8]);
    expect(stream.refused).to.equal(0);
    expect(await positions()).to.deep.equal(at);
    expect(await positions(at[0])).to.deep.equal(at.slice(1));
  });

  it('from another process is skipped by an append that did not know it', async () => {
    const at = [await append(one, LOG_START)];
    for (const frame of [two, three]) {
      stream.publish(writeBarrier({ frame: at.at(-1)!, message: at.at(-1)! }));
      at.push(await append(frame, at.at(-1)!));
    }
    expect(at).to.deep.equal([1, 3, 5]);
    expect(stream.refused).to.equal(2);
    expect(await positions()).to.deep.equal(at);
  });

  it('does not hide a frame between it and the frame that it names', async () => {
    stream.publish(one.bytes);
    stream.publish(two.bytes);
    stream.publish(writeBarrier({ frame: 1, message: 1 }));
    expect((await log.head())?.position).to.equal(2);
    expect(await positions()).to.deep.equal([1, 2]);
  });

  it('costs a constant number of requests to skip, for any number of barriers', async () => {
    const at = [await append(one, LOG_START)];
    const costs: number[] = [];
    for (let i = 0; i < 6; i++) {
      await log.barrier();
      await positions(at[0]);
      const before = stream.asked;
      expect((await log.head())?.position).to.equal(1);
      expect(await positions(at[0])).to.deep.equal([]);
      costs.push(stream.asked - before);
    }
    expect(new Set(costs).size).to.equal(1);
    expect(costs[0]).to.be.at.most(5);
    const other = await stream.logs.open(ID);
    at.push(await other.append(two.bytes, at[0]!, soonMs()));
    expect(await positions()).to.deep.equal(at);
  });

  it('keeps a superseded frame skipped although a stale replica lacks the frame before it', async () => {
    for (const { bytes } of [one, two, two]) stream.publish(bytes);
    stream.deposedHas = 1;
    await log.barrier();
    expect(await positions(2)).to.deep.equal([]);
    expect(log.added).to.equal(1);
  });

  it('between two attempts of an append is skipped, and the frame is stored once', async () => {
    const at = [await append(one, LOG_START)];
    stream.lost = 1;
    stream.publish(writeBarrier({ frame: at[0]!, message: at[0]! }));
    at.push(await append(two, at[0]!));
    expect(at).to.deep.equal([1, 3]);
    expect(await positions()).to.deep.equal(at);
  });

  it('does not count as a frame that an administrator has removed', async () => {
    const { losses } = stream;
    let after = LOG_START;
    for (const frame of [one, two, three]) after = await append(frame, after);
    const look = () => losses.look([{ collectionId: ID, frames: 3, added: () => log.added }]);
    expect(await look()).to.deep.equal([]);
    await log.barrier();
    await log.barrier();
    stream.removed = 1;
    expect(await look()).to.deep.equal([{ collectionId: ID, loss: undefined }]);
    expect(await look()).to.deep.equal([]);
    stream.removed = 2;
    expect(await look()).to.deep.equal([{ collectionId: ID, loss: undefined }]);
  });

  it('may name a superseded frame, or follow one, and readers skip that frame', async () => {
    const late = await frameOf([second, third], one.end);
    for (const { bytes } of [one, two, late, three]) stream.publish(bytes);
    stream.publish(writeBarrier({ frame: 3, message: 3 }));
    expect(await positions()).to.deep.equal([1, 2, 4]);
    stream.publish(late.bytes);
    stream.publish(writeBarrier({ frame: 4, message: 5 }));
    expect((await log.head())?.position).to.equal(4);
    await log.barrier();
    expect(readBarrier(stream.messages.at(-1)!)).to.deep.equal({ frame: 4, message: 7 });
    expect(await positions()).to.deep.equal([1, 2, 4]);
  });

  it('is sent again if it is lost, three times at most', async () => {
    stream.publish(one.bytes);
    stream.lost = 2;
    await log.barrier();
    expect(stream.messages).to.have.length(2);
    stream.lost = 3;
    await expectCode(log.barrier(), 'unavailable');
    expect(stream.messages).to.have.length(2);
  });

  it('with a flipped bit is left to the reader, which refuses it', async () => {
    stream.publish(one.bytes);
    const intact = writeBarrier({ frame: 1, message: 5 });
    expect(readBarrier(intact)).to.deep.equal({ frame: 1, message: 5 });
    for (let bit = 0; bit < intact.length * 8; bit++) {
      const bent = Uint8Array.from(intact);
      bent[bit >> 3]! ^= 1 << (bit & 7);
      expect(readBarrier(bent), `bit ${bit}`).to.equal(undefined);
    }
    const bent = Uint8Array.from(intact);
    bent[9]! ^= 1;
    stream.publish(bent);
    expect(await positions()).to.deep.equal([1, 2]);
  });
});
