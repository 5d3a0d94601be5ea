// Covers: shared/log/frame.ts, shared/log/chain.ts, shared/scheduling/pacer.ts
import { expect } from 'chai';
import { hash, toHex } from '../../../../shared/hashing/hash.js';
import { EMPTY_LOG, type LogEnd } from '../../../../shared/log/chain.js';
import type { Event, Insert } from '../../../../shared/log/event.js';
import {
  buildFrame,
  chainHeadBefore,
  claimedStart,
  frameHash,
  frameSizeBytes,
  hashAt,
  readFrameHeader,
  verifyFrame,
} from '../../../../shared/log/frame.js';
import { noPause } from '../../../support/rigs/auditHistory.js';
import { replayedLog } from '../../../support/rigs/replayedLog.js';

const GENESIS: Event = {
  type: 'genesis',
  sequence: 0,
  timeMs: 1_700_000_000_000,
  actor: null,
  collectionId: 7,
  dimension: 1,
  metric: 'squared_l2',
  project: 'p',
  name: 'n',
};
const insert = (sequence: number, recordId = sequence): Insert => ({
  type: 'insert',
  sequence,
  timeMs: 1_700_000_000_000 + sequence,
  actor: null,
  recordId,
  tag: 0,
  requestId: null,
  vector: Uint8Array.of(sequence, 0, 1, 0),
  metadata: null,
  text: null,
  externalId: null,
});

const hex = ([text]: TemplateStringsArray): string => text!.replace(/\s+/g, '');
/** Genesis and one insert. */
const FRAME_HEX = hex`56465231 02000000 0000000000000000 0000000000000000 0100000000000000
  0000000000000000000000000000000000000000000000000000000000000000
  2a000000 010100000000000000000000000000000068e5cf8b010000 07000000000000000100000001010100706e
  4c000000 010200000000000001000000000000000168e5cf8b010000
  010000000000000000000000000000000000000000000000 00000000000000000000000000000000000000000100000001000100
  3d0c09ee5089e19364d52e0aa5be264531b4ea6602f0d4d7a22b17eaf47a62d2
  b4784be348f34f798ec205ddeb839495`;
const frameBytes = (): Uint8Array => Uint8Array.from(Buffer.from(FRAME_HEX, 'hex'));
const smallFrame = () => buildFrame([GENESIS, insert(1)], EMPTY_LOG, 1, noPause);

/** The frame with bytes replaced and a matching checksum, as a forger could write it. */
function forged(at: number, ...values: number[]): Uint8Array {
  const bytes = frameBytes();
  bytes.set(values, at);
  bytes.set(hash(bytes.subarray(0, -16)).subarray(0, 16), bytes.length - 16);
  return bytes;
}

async function refusal(bytes: Uint8Array, before: LogEnd = EMPTY_LOG): Promise<string> {
  try {
    await verifyFrame(bytes, before, noPause);
  } catch (error) {
    expect(error).to.have.property('name', 'Malformed');
    return (error as Error).message;
  }
  return 'accepted';
}

describe('the frame codec', () => {
  it('writes genesis and insert as documented, and the verifier agrees', async () => {
    const { bytes, end } = await smallFrame();
    expect(toHex(bytes)).to.equal(FRAME_HEX);
    expect(bytes.length).to.equal(frameSizeBytes([GENESIS, insert(1)]));
    const report = await replayedLog([bytes]);
    expect(report.problems).to.deep.equal([]);
    expect(report.chainHead).to.equal(toHex(end.chainHead));
  });

  it('reads back the written events, hashes, chain heads and end of the log', async () => {
    const built = await smallFrame();
    const read = await verifyFrame(Buffer.from(FRAME_HEX, 'hex'), EMPTY_LOG, noPause);
    expect(read).to.deep.equal({ ...built, end: { ...built.end, chainHead: read.end.chainHead } });
    expect(read.events).to.deep.equal([GENESIS, insert(1)]);
    expect(read.end).to.include({ nextSequence: 2, logBytes: built.bytes.length, lastTimeMs: 1_700_000_000_001 });
    expect(toHex(read.end.chainHead)).to.equal(toHex(hashAt(read.chainHeads, 1)));
    expect(toHex(chainHeadBefore(read, 1))).to.equal(toHex(hashAt(read.chainHeads, 0)));
  });

  it('continues where the previous frame ended', async () => {
    const first = await smallFrame();
    const second = await buildFrame([insert(2), insert(3)], first.end, 3, noPause);
    const read = await verifyFrame(second.bytes, first.end, noPause);
    expect(read.end).to.include({ nextSequence: 4, logBytes: first.bytes.length + second.bytes.length });
    expect(readFrameHeader(second.bytes)).to.deep.include({
      events: 2,
      firstSequence: 2,
      liveRecords: 3,
      logBytesBefore: first.bytes.length,
      logBytesAfter: first.bytes.length + second.bytes.length,
      chainHeadAfter: hashAt(second.chainHeads, 1),
    });
    expect((await replayedLog([first.bytes, second.bytes])).problems).to.deep.equal([]);
    const alone = await verifyFrame(second.bytes, claimedStart(second.bytes), noPause);
    expect(alone.eventHashes).to.deep.equal(second.eventHashes);
  });

  it('refuses a frame with any bit flipped', async () => {
    const bytes = frameBytes();
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      expect(await refusal(bytes), `bit ${bit}`).to.match(/\(at byte \d+\)$/);
      expect((await replayedLog([bytes])).problems, `bit ${bit}`).to.have.length(1);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
    }
  });

  it('refuses a frame cut anywhere, or with an additional byte', async () => {
    const bytes = frameBytes();
    for (let length = 0; length < bytes.length; length++) {
      expect(await refusal(bytes.subarray(0, length)), `cut to ${length}`).to.match(/\(at byte \d+\)$/);
      expect((await replayedLog([bytes.subarray(0, length)])).problems, `cut to ${length}`).to.have.length(1);
    }
    expect(await refusal(Uint8Array.of(...bytes, 0))).to.match(/checksum/);
  });

  const forgeries: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['another magic', forged(3, 0x32), /does not begin with VFR1 \(at byte 0\)/],
    ['no events', forged(4, 0), /without events \(at byte 4\)/],
    ['more events than there are', forged(4, 3), /an event of \d+ bytes reaches beyond|fewer events/],
    ['fewer events than there are', forged(4, 1), /bytes after the last event \(at byte 110\)/],
    ['a great count', forged(4, 0, 0, 0, 0xff), /do not fit the frame \(at byte 4\)/],
    [
      'a later sequence',
      forged(8, 1),
      /has lost its beginning: the frame begins with event 1 instead of 0 \(at byte 8\)/,
    ],
    ['other bytes before it', forged(16, 1), /1 bytes of log before it, and there are 0 \(at byte 16\)/],
    ['another chain before it', forged(32, 1), /continues another chain \(at byte 32\)/],
    ['an event with another length', forged(64, 41), /an event of 41 bytes whose fields take 42 \(at byte 68\)/],
    ['an event that is too long', forged(66, 1), /reaches beyond the frame \(at byte 64\)/],
    ['an event out of sequence', forged(114 + 8, 2), /event 2 is in the place of event 1 \(at byte 114\)/],
    ['an event that goes back in time', forged(114 + 21, 0), /event 1 is older than the one before it/],
    ['another event', forged(114 + 72, 9), /do not lead to the chain head that the frame ends with/],
    ['another chain head after it', forged(FRAME_HEX.length / 2 - 48, 0, 0), /do not lead to the chain head/],
  ];
  for (const [what, bytes, reason] of forgeries)
    it(`refuses a forged frame: ${what}`, async () => {
      expect(await refusal(bytes)).to.match(reason);
      expect((await replayedLog([bytes])).problems).to.have.length(1);
    });

  it('builds no frame that does not continue the log', async () => {
    const broken = async (...events: Event[]): Promise<string> => {
      try {
        await buildFrame(events, EMPTY_LOG, 1, noPause);
      } catch (error) {
        return (error as Error).message;
      }
      return 'built';
    };
    expect(await broken()).to.match(/at least one event/);
    expect(await broken(insert(1))).to.match(/event 1 is in the place of event 0/);
    expect(await broken(GENESIS, { ...insert(1), timeMs: 1 })).to.match(/event 1 is older/);
  });

  it('yields during work on a large frame, and builds the same bytes', async () => {
    const events = [GENESIS, ...Array.from({ length: 4_000 }, (_, i) => insert(i + 1))];
    let pauses = 0;
    const pause = async (): Promise<void> => {
      pauses++;
    };
    const { bytes } = await buildFrame(events, EMPTY_LOG, 4_000, pause);
    expect(pauses).to.be.greaterThan(4);
    pauses = 0;
    const read = await verifyFrame(bytes, EMPTY_LOG, pause);
    expect(pauses).to.be.greaterThan(4);
    expect(read.events).to.deep.equal(events);
    const report = await replayedLog([bytes]);
    expect(report.problems).to.deep.equal([]);
    expect(report.chainHead).to.equal(toHex(read.end.chainHead));
  });

  it('has the hash of its bytes, whatever its size', async () => {
    const described = (metadataBytes: number): Event[] => [
      GENESIS,
      { ...insert(1), metadata: new Uint8Array(metadataBytes).fill(32) },
    ];
    const leastBytes = frameSizeBytes(described(0));
    for (const pieces of [1, 2, 3, 4, 9])
      for (const by of [-100, -1, 0, 1, 15, 16, 17, 2_000]) {
        const { bytes } = await buildFrame(described(pieces * 65_536 + by - leastBytes), EMPTY_LOG, 1, noPause);
        expect(bytes).to.have.length(pieces * 65_536 + by);
        const verified = await verifyFrame(bytes.slice(), EMPTY_LOG, noPause);
        for (const each of [bytes, verified.bytes])
          expect(toHex(frameHash(each)), `${bytes.length} bytes`).to.equal(toHex(hash(bytes)));
      }
  });

  it('does not yield for a small frame', async () => {
    const never = (): Promise<void> => Promise.reject(new Error('paused'));
    const { bytes } = await buildFrame([GENESIS, insert(1)], EMPTY_LOG, 1, never);
    expect((await verifyFrame(bytes, EMPTY_LOG, never)).events).to.have.length(2);
  });
});
