// Covers: shared/log/supersededFrames.ts
/** Superseded frames in a log, which servers before 2.12 could store. */
import { expect } from 'chai';
import { connect, type NatsConnection } from 'nats';
import { systemClock } from '../../shared/clock.js';
import { writeBarrier } from '../../shared/log/barrier.js';
import { EMPTY_LOG, type LogEnd } from '../../shared/log/chain.js';
import { type EventLog, LOG_START, type Position } from '../../shared/log/eventLog.js';
import type { Frame } from '../../shared/log/frame.js';
import { buildFrame } from '../../shared/log/frame.js';
import type { ClusterPlatform } from '../../shared/platform/natsPlatform.js';
import { logSubject } from '../../shared/transport/subjects.js';
import { JetStreamCluster } from '../../verifier/node/index.js';
import { everyEvent } from '../fuzz/targets/samples.js';
import { startTestNats, type TestNats } from '../support/launch/natsServer.js';
import { seededRandom } from '../support/model/random.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';

const ID = 7;
const STREAMS = 2;
const [genesis, first, second, third] = everyEvent(seededRandom(1));
const soonMs = (): number => systemClock.nowMs() + 10_000;
const frameOf = (events: readonly (typeof first)[], before: LogEnd): Promise<Frame> =>
  buildFrame(
    events.map((event) => event!),
    before,
    events.length,
    async () => undefined,
  );

describe('a superseded frame', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNats;
  let raw: NatsConnection;
  let platform: ClusterPlatform;
  let log: EventLog;
  let one: Frame;
  let two: Frame;

  before(async () => {
    nats = await startTestNats();
    raw = await connect({ servers: nats.url });
    one = await frameOf([genesis, first], EMPTY_LOG);
    two = await frameOf([second], one.end);
  });
  beforeEach(async () => {
    platform = await platforms.open(nats.url, { logStreams: STREAMS });
    await platform.logs.remove(ID);
    log = await platform.logs.open(ID);
  });
  afterEach(() => platforms.close());
  after(async () => {
    await raw.close();
    await nats.stop();
  });

  /** Stores a frame without any check. */
  const letIn = async (frame: Uint8Array): Promise<Position> =>
    (await raw.jetstream().publish(logSubject(ID, STREAMS), frame)).seq;

  const positions = async (after: Position = LOG_START): Promise<Position[]> => {
    const found: Position[] = [];
    for await (const { position } of log.read(after)) found.push(position);
    return found;
  };

  const verified = async (): Promise<{ readonly positions: Position[]; readonly sizeBytes: number }> => {
    const cluster = await JetStreamCluster.connect(nats.url);
    const positions: Position[] = [];
    const source = await cluster.openLog(BigInt(ID));
    for await (const { position } of source.frames()) positions.push(position);
    await cluster.close();
    return { positions, sizeBytes: source.sizeBytes };
  };

  it('is skipped by every reader, wherever it begins, and the log continues behind it', async () => {
    const at = [await log.append(one.bytes, LOG_START, soonMs())];
    await letIn(one.bytes);
    expect(await positions()).to.deep.equal(at);
    expect(await positions(at[0])).to.deep.equal([]);
    at.push(await log.append(two.bytes, at[0]!, soonMs()));
    const other = await frameOf([second], one.end);
    await letIn(other.bytes);
    await letIn(two.bytes);
    expect(await positions()).to.deep.equal(at);
    const three = await frameOf([third], two.end);
    at.push(await log.append(three.bytes, at[1]!, soonMs()));
    expect(await positions()).to.deep.equal(at);
    expect(await positions(at[1])).to.deep.equal([at[2]]);
    expect((await log.head())?.position).to.equal(at[2]);
    expect((await verified()).positions, 'positions for the verifier').to.deep.equal(at);
  });

  it('is skipped wherever it is: after many repeated frames, or before a late beginning', async () => {
    const three = await frameOf([third], two.end);
    const at = [await log.append(one.bytes, LOG_START, soonMs())];
    for (const frame of [two, three]) at.push(await log.append(frame.bytes, at.at(-1)!, soonMs()));
    for (const { bytes } of [one, two, three, one]) await letIn(bytes);
    const late = await frameOf([genesis, { ...first!, timeMs: first!.timeMs + 1 } as typeof first], EMPTY_LOG);
    const behind = await letIn(late.bytes);
    expect(await positions()).to.deep.equal(at);
    expect(await positions(at[1])).to.deep.equal([at[2]]);
    const four = await frameOf([{ ...second!, sequence: 4, timeMs: third!.timeMs + 1 } as typeof second], three.end);
    at.push(await log.append(four.bytes, at[2]!, soonMs()));
    expect(at[3]).to.be.above(behind);
    expect(await positions()).to.deep.equal(at);
    expect((await verified()).positions, 'positions for the verifier').to.deep.equal(at);
  });

  it('may be a barrier, which every reader also skips', async () => {
    await letIn(writeBarrier({ frame: LOG_START, message: LOG_START }));
    expect([await positions(), await log.head(), (await verified()).sizeBytes]).to.deep.equal([[], undefined, 0]);
    const at = [await log.append(one.bytes, LOG_START, soonMs())];
    await letIn(writeBarrier({ frame: at[0]!, message: at[0]! }));
    at.push(await log.append(two.bytes, at[0]!, soonMs()));
    await letIn(writeBarrier({ frame: at[0]!, message: at[0]! }));
    await letIn(writeBarrier({ frame: at[1]!, message: at[1]! }));
    expect(await positions()).to.deep.equal(at);
    expect((await log.head())?.position).to.equal(at[1]);
    expect(await verified()).to.deep.equal({ positions: at, sizeBytes: one.bytes.length + two.bytes.length });
  });

  it('is an error if it is not whole, or follows another frame', async () => {
    await log.append(one.bytes, LOG_START, soonMs());
    const bent = Uint8Array.from(one.bytes);
    bent[90]! ^= 1;
    await letIn(bent);
    expect(await positions()).to.have.length(2);
    const three = await frameOf([third], two.end);
    await letIn(three.bytes);
    expect(await positions()).to.have.length(3);
  });
});
