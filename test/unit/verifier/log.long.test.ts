// Covers: verifier/log.ts, verifier/frame.ts, verifier/replay.ts, verifier/source.ts, verifier/exportFile.ts
// Covers: verifier/fileReading.ts
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.js';
import { EMPTY_LOG } from '../../../shared/log/chain.js';
import { LOG_START } from '../../../shared/log/eventLog.js';
import { verifyFrame } from '../../../shared/log/frame.js';
import { encodeReach, encodeSegmentHeader } from '../../../shared/log/segmentFormat.js';
import { LocalLogs } from '../../../shared/log/segments.js';
import { toHex } from '../../../verifier/bytes.js';
import { checkExport, type ExportClaims } from '../../../verifier/exportClaims.js';
import { ExportFile } from '../../../verifier/exportFile.js';
import { flippedBitIn } from '../../../verifier/frame.js';
import { type LogReport, type Refusal, verifyFrames, verifyLog } from '../../../verifier/log.js';
import { LogFolder, openExport } from '../../../verifier/node/index.js';
import { FrameRefused, Replay } from '../../../verifier/replay.js';
import { GivenFrames } from '../../../verifier/source.js';
import { type SeededRandom, seededRandom, testSeed } from '../../support/model/random.js';
import { noPause } from '../../support/rigs/auditHistory.js';
import {
  assembleExport,
  CREATED_MS,
  ORIGIN,
  PUBLIC_KEY,
  type WrittenFrame,
  type WrittenLog,
  writeExport,
  writeLog,
} from '../../support/rigs/writtenLog.js';

const log = writeLog();
const frames = log.frames.map(({ bytes }) => bytes);
/** The first two commits: small enough to test each bit. */
const short: WrittenLog = { ...log, frames: log.frames.slice(0, 2), events: log.events.slice(0, 5) };
/** The first commit. */
const first: WrittenLog = { ...log, frames: log.frames.slice(0, 1), events: log.events.slice(0, 3) };
const logBytes = frames.reduce((sum, { length }) => sum + length, 0);

/** Calls `check` with one bit of each byte flipped, drawn from `random`. */
async function withFlips(
  bytes: Uint8Array,
  random: SeededRandom,
  check: (bit: number) => Promise<void>,
): Promise<void> {
  for (let byte = 0; byte < bytes.length; byte++) {
    const bit = 8 * byte + random.int(8);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    await check(bit);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
  }
}

type Named = Pick<Refusal, 'firstSequence' | 'lastSequence'>;

/** Asserts that the named bad event contains the byte, or is one of several that include it. */
function expectNamed({ firstSequence, lastSequence }: Named, frame: WrittenFrame, byte: number, what: string): void {
  const index = frame.events.findIndex(({ from, end }) => byte >= from && byte < end);
  if (index < 0) return;
  expect(Number(firstSequence), what).to.be.at.most(frame.firstSequence + index);
  expect(Number(lastSequence), what).to.be.at.least(frame.firstSequence + index);
  if (firstSequence === lastSequence) expect(Number(firstSequence), what).to.equal(frame.firstSequence + index);
}

describe('the verifier of logs', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-verify-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('replays every type of event, and agrees with the engine on each frame', async () => {
    const report = await verifyFrames(frames);
    expect(report.refusal).to.equal(undefined);
    expect(report.records).to.deep.include({ live: 2, ever: 8, encrypted: 3, shreddedKeys: 1 });
    expect(report.records.openKeys).to.deep.equal([...report.records.openKeys].sort());
    expect(report.graph).to.deep.equal({ nodes: 1, edges: 0 });
    expect(report.size).to.equal(BigInt(log.events.length));
    expect(new Set(log.events.map((event) => event[1])).size, 'types').to.equal(13);
    let end = EMPTY_LOG;
    for (const bytes of frames) end = (await verifyFrame(bytes, end, noPause)).end;
    expect(toHex(report.state.chainHead)).to.equal(toHex(end.chainHead));
    expect(report.logBytes).to.equal(BigInt(end.logBytes));
  });

  it('refuses a log with a bit of any byte flipped, by the event or the frame', async () => {
    const random = seededRandom(testSeed());
    const source = new GivenFrames(frames);
    const replay = new Replay((place) => source.readAgain(place), new Map());
    for (const [index, frame] of log.frames.entries()) {
      // A frame with a wrong checksum is not applied, so this replay can continue.
      await withFlips(frame.bytes, random, async (bit) => {
        const what = `bit ${bit} of frame ${index}`;
        const error = await replay.frame(frame.bytes, index).catch((thrown: unknown) => thrown);
        expect(error, what).to.be.instanceOf(FrameRefused);
        expectNamed((error as FrameRefused).flaw, frame, bit >> 3, what);
      });
      await replay.frame(frame.bytes, index);
    }
  });

  it('finds the one bit that explains a damaged frame', () => {
    const random = seededRandom(testSeed());
    for (const { bytes, events, firstSequence } of log.frames)
      for (let round = 0; round < 3; round++) {
        const damaged = Buffer.from(bytes);
        const byte = random.int(damaged.length);
        damaged[byte]! ^= 1 << random.int(8);
        const index = events.findIndex(({ from, end }) => byte >= from && byte < end);
        const found = flippedBitIn(damaged);
        expect(found?.byte).to.equal(byte);
        expect(found?.event?.sequence).to.equal(index < 0 ? undefined : BigInt(firstSequence + index));
      }
  });

  it('refuses a log cut anywhere within a frame, and frames missing, repeated or swapped', async () => {
    for (const [index, bytes] of frames.entries())
      for (let length = 0; length < bytes.length; length += index < 2 ? 1 : 7) {
        const { refusal } = await verifyFrames([...frames.slice(0, index), bytes.subarray(0, length)]);
        expect(refusal?.place.name, `frame ${index} cut to ${length}`).to.equal(`frame ${index}`);
      }
    const [a, b, c, ...rest] = frames as [Buffer, Buffer, Buffer, ...Buffer[]];
    for (const wrong of [
      [b, c, ...rest],
      [a, c, ...rest],
      [a, b, b, c],
      [a, c, b, ...rest],
    ])
      expect((await verifyFrames(wrong)).refusal?.what).to.match(/the frame begins with event/);
  });

  it('refuses garbage', async () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 2000; round++) {
      const garbage = Buffer.from(Array.from({ length: random.int(300) }, () => random.int(256)));
      if (random.next() < 0.5) garbage.write('VFR1', 'latin1');
      expect((await verifyFrames([...frames.slice(0, round % 3), garbage])).refusal).to.not.equal(undefined);
    }
  });

  describe('in an export', () => {
    async function check(file: ExportFile): Promise<LogReport & Partial<ExportClaims>> {
      try {
        const report = await verifyLog(file);
        return { ...report, ...(report.refusal === undefined ? checkExport(file, report) : {}) };
      } finally {
        await file.close();
      }
    }
    const inMemory = (bytes: Buffer): ExportFile =>
      new ExportFile('notes.vouchlog', { read: async (...to) => readFrom(bytes, ...to), close: noPause }, bytes.length);

    it('accepts an unaltered file', async () => {
      const path = join(folder, 'notes.vouchlog');
      await writeFile(path, (await writeExport(log)).bytes);
      const { refusal, problems, checkpoint } = await check(await openExport(path));
      expect(refusal).to.equal(undefined);
      expect(problems).to.deep.equal([]);
      expect(checkpoint?.publicKey).to.equal(PUBLIC_KEY);
    });

    it('refuses a file with a bit of any byte flipped, at the right byte and event', async () => {
      const random = seededRandom(testSeed());
      const { bytes, framesAt } = await writeExport(first);
      await withFlips(bytes, random, async (bit) => {
        const { refusal, problems = [] } = await check(inMemory(bytes));
        const [byte, what] = [bit >> 3, `bit ${bit}`];
        expect(refusal !== undefined || problems.length > 0, what).to.equal(true);
        const index = framesAt.findLastIndex((at) => byte >= at);
        const frame = first.frames[index];
        if (frame === undefined || byte >= framesAt[index]! + frame.bytes.length) return;
        expectNamed(refusal!, frame, byte - framesAt[index]!, what);
        expect(refusal!.place.byte, what).to.be.within(framesAt[index]!, framesAt[index]! + frame.bytes.length);
      });
    });

    it('reports a cut export as not finished, with the events that verify', async () => {
      const { bytes, framesAt } = await writeExport(short);
      for (let length = bytes.length - 1; length >= 0; length--) {
        const { refusal } = await check(inMemory(bytes.subarray(0, length)));
        const whole = framesAt.filter((at, i) => at + short.frames[i]!.bytes.length <= length).length;
        const events = short.frames[whole]?.firstSequence ?? short.events.length;
        expect(Number(refusal?.firstSequence), `cut to ${length}`).to.equal(events);
        expect(refusal?.what, `cut to ${length}`).to.match(length < 10 ? /not an export/ : /not finished/);
      }
    });

    it('refuses an altered header or trailer although the hash of the file is recomputed', async () => {
      const { bytes } = await writeExport(short);
      for (const [field, change] of FORGERIES) {
        const { refusal, problems } = await check(inMemory(forgedExport(bytes, change)));
        expect(refusal, field).to.equal(undefined);
        expect(problems?.join(), field).to.contain(field);
      }
    });

    it('refuses garbage', async () => {
      const { bytes } = await writeExport(short);
      const random = seededRandom(testSeed());
      for (let round = 0; round < 1000; round++) {
        // The file is right up to some byte.
        const good = bytes.subarray(0, random.int(bytes.length));
        const garbage = Buffer.from(Array.from({ length: 1 + random.int(200) }, () => random.int(256)));
        const { refusal, problems = [] } = await check(inMemory(Buffer.concat([good, garbage])));
        expect(refusal !== undefined || problems.length > 0, `round ${round}`).to.equal(true);
      }
    });

    it('accepts a file without events, and reports the empty state', async () => {
      const { bytes } = await writeExport({ frames: [], events: [], chainHeads: [] });
      const { refusal, problems, size } = await check(inMemory(bytes));
      expect([refusal, problems, size]).to.deep.equal([undefined, [], 0n]);
    });
  });

  describe('in a data folder', () => {
    const id = BigInt(ORIGIN.id);
    let data = '';

    /** Stores the frames with the engine. Returns each segment with its bytes. */
    async function store({ frames: stored }: WrittenLog, segmentBytes: number): Promise<Map<string, Buffer>> {
      data = await mkdtemp(join(folder, 'data-'));
      const logs = await LocalLogs.open({ folder: join(data, 'collections'), segmentBytes });
      const local = await logs.open(ORIGIN.id);
      let after = LOG_START;
      for (const { bytes } of stored) after = await local.append(bytes, after, systemClock.nowMs() + 10_000);
      await local.close();
      await logs.close();
      const path = join(data, 'collections', String(ORIGIN.id), 'log');
      const names = (await readdir(path)).filter((name) => name.endsWith('.seg')).sort();
      const segments = names.map(async (name) => [join(path, name), await readFile(join(path, name))] as const);
      return new Map(await Promise.all(segments));
    }

    async function check(): Promise<LogReport & { torn: number }> {
      const source = await LogFolder.open(data, id);
      try {
        return { ...(await verifyLog(source)), torn: source.tornBytes };
      } finally {
        await source.close();
      }
    }

    it('accepts the stored log', async () => {
      expect((await store(log, 1000)).size).to.be.greaterThan(2);
      const { refusal, logBytes: replayed, torn, state } = await check();
      expect(refusal).to.equal(undefined);
      expect(torn).to.equal(0);
      expect(replayed).to.equal(BigInt(logBytes));
      expect(state.stateHash).to.deep.equal((await verifyFrames(frames)).state.stateHash);
    });

    it('refuses a segment with any bit flipped, and names it', async () => {
      const segments = await store(short, 300);
      expect(segments.size).to.equal(2);
      for (const [path, bytes] of segments) {
        // In the frame, which has its own checksum, one bit of each byte is enough.
        const bitsOf = (byte: number): readonly number[] => (byte < 64 + 16 + 64 ? ALL_BITS : [byte % 8]);
        await withFlipsOnDisk(path, bytes, bitsOf, async (_, what) => {
          expect((await check()).refusal?.place.name, `${what} of ${path}`).to.equal(basename(path));
        });
      }
    });

    it('refuses a segment cut anywhere, or missing', async () => {
      for (const [path, bytes] of await store(short, 300)) {
        await withCuts(path, bytes, async (length) => {
          expect((await check()).refusal?.place.name, `cut to ${length}`).to.equal(basename(path));
        });
        await rm(path);
        const isFirst = bytes.readBigUInt64LE(16) === 0n;
        expect((await check()).refusal?.what).to.match(isFirst ? /before it ends at 0/ : /follows it, and is missing/);
        await writeFile(path, bytes);
      }
    });

    it('accepts a segment that names no next one only where a crash can have left it', async () => {
      const [[older, ended], [newer]] = [...(await store(short, 300))] as [[string, Buffer], [string, Buffer]];
      const end = Number(ended.readBigUInt64LE(40));
      const reach = encodeReach({ head: Number(ended.readBigUInt64LE(32)), end, next: 0 });
      await writeFile(older, Buffer.from(ended).fill(reach, 32, 64));
      const { refusal } = await check();
      expect(refusal).to.deep.include({ what: 'no segment follows it, but one with frames does' });
      expect(refusal?.place).to.deep.equal({ name: basename(older), byte: 48 });
      await writeFile(newer, encodeSegmentHeader({ collectionId: ORIGIN.id, base: end }));
      expect((await check()).refusal).to.equal(undefined);
      await writeFile(older, ended);
      expect((await check()).refusal).to.equal(undefined);
    });

    it('ignores torn bytes behind the last frame', async () => {
      const [path, bytes] = [...(await store(short, 300))].at(-1)!;
      await writeFile(path, Buffer.concat([bytes, Buffer.alloc(100, 7)]));
      const { refusal, torn, size } = await check();
      expect([refusal, torn, size]).to.deep.equal([undefined, 100, BigInt(short.events.length)]);
    });
  });
});

const ALL_BITS = [0, 1, 2, 3, 4, 5, 6, 7];

/** Writes the file with one bit after another flipped, and restores it. */
async function withFlipsOnDisk(
  path: string,
  bytes: Buffer,
  bitsOf: (byte: number) => readonly number[],
  check: (byte: number, what: string) => Promise<void>,
): Promise<void> {
  await writeFile(path, bytes);
  const file = await open(path, 'r+');
  try {
    for (let byte = 0; byte < bytes.length; byte++) {
      for (const bit of bitsOf(byte)) {
        await file.write(Buffer.of(bytes[byte]! ^ (1 << bit)), 0, 1, byte);
        await check(byte, `bit ${bit} of byte ${byte}`);
      }
      await file.write(bytes, byte, 1, byte);
    }
  } finally {
    await file.close();
  }
}

/** Cuts the file shorter and shorter, and restores it. */
async function withCuts(path: string, bytes: Buffer, check: (length: number) => Promise<void>): Promise<void> {
  await writeFile(path, bytes);
  const file = await open(path, 'r+');
  try {
    for (let length = bytes.length - 1; length >= 0; length--) {
      await file.truncate(length);
      await check(length);
    }
  } finally {
    await file.close();
    await writeFile(path, bytes);
  }
}

function readFrom(bytes: Buffer, into: Uint8Array, offset: number, length: number, position: number) {
  return { bytesRead: bytes.copy(into, offset, position, position + length) };
}

type Change = (header: Json, trailer: Json) => void;
type Json = Record<string, unknown> & { origin: Record<string, unknown>; checkpoint: Record<string, unknown> };
const ZEROS = '0'.repeat(64);

/** Forged field, which the problem must name, and its change. */
const FORGERIES: readonly (readonly [string, Change])[] = [
  ['format', (header) => (header.format = 2)],
  ['metric', (header) => (header.metric = 'cosine')],
  ['origin', (header) => (header.origin = null as unknown as Json)],
  ['project', (header) => (header.origin.project = 'other')],
  ['name', (header) => (header.origin.name = 'other')],
  ['id', (header) => (header.origin.id = 18)],
  ['dimension', (header) => (header.dimension = 3)],
  ['normalise', (header) => (header.normalise = true)],
  ['normalise', (header) => (header.normalise = false)],
  ['created_at_ms', (header) => (header.created_at_ms = CREATED_MS + 1)],
  ['exported_at_ms', (header) => (header.exported_at_ms = 'now')],
  ['frames', (_, trailer) => (trailer.frames = 3)],
  ['sequence', (_, trailer) => (trailer.sequence = 5)],
  ['log_bytes', (_, trailer) => (trailer.log_bytes = 1)],
  ['chain_head', (_, trailer) => (trailer.chain_head = ZEROS)],
  ['log_root', (_, trailer) => (trailer.log_root = ZEROS)],
  ['state_hash', (_, trailer) => (trailer.state_hash = ZEROS)],
  ['checkpoint', (_, trailer) => (trailer.checkpoint = null as unknown as Json)],
  ['public_key', (_, trailer) => delete trailer.checkpoint.public_key],
  ['signature', (_, trailer) => (trailer.checkpoint.signature = '0'.repeat(128))],
  ['signature', (_, trailer) => (trailer.checkpoint.note = String(trailer.checkpoint.note).replace('acme', 'acne'))],
];

/** The frames between another header and trailer, with a matching hash. */
function forgedExport(bytes: Buffer, change: Change): Buffer {
  const headerEnd = 14 + bytes.readUInt32LE(10);
  const header = JSON.parse(bytes.subarray(14, headerEnd).toString()) as Json;
  const frameBytes = short.frames.reduce((sum, frame) => sum + 4 + frame.bytes.length, 4);
  const trailer = JSON.parse(bytes.subarray(headerEnd + frameBytes + 4, -32).toString()) as Json;
  change(header, trailer);
  return assembleExport(header, short, trailer).bytes;
}
