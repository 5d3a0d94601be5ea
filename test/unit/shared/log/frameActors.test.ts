// Covers: shared/log/frameActors.ts, shared/log/actorCodec.ts, shared/log/chain.ts, shared/model/actor.ts
// Covers: verifier/actor.ts, shared/log/event.ts, shared/log/eventFixed.ts
import { expect } from 'chai';
import { hash, toHex } from '../../../../shared/hashing/hash.js';
import { actorSizeBytes, decodeActor, encodeActor } from '../../../../shared/log/actorCodec.js';
import { EMPTY_LOG } from '../../../../shared/log/chain.js';
import { type Event, genesisOf } from '../../../../shared/log/event.js';
import { buildFrame, frameSizeBytes, verifyFrame } from '../../../../shared/log/frame.js';
import { type Actor, actorOf, namedActor, SYSTEM } from '../../../../shared/model/actor.js';
import { actorBytes, readActor } from '../../../../verifier/actor.js';
import { noPause } from '../../../support/rigs/auditHistory.js';
import { configOf } from '../../../support/rigs/engine.js';
import { replayedLog } from '../../../support/rigs/replayedLog.js';
import { ACTOR, SYSTEM_ACTOR, writeLogWithActors } from '../../../support/rigs/writtenLog.js';

const CALLER: Actor = { keyId: '7f3a52c0d1e9b846', onBehalfOf: 'u-17', requestId: 'r-1' };
const config = configOf(7);
const genesis = genesisOf(config);
const shred = (sequence: number, actor: Actor | null): Event => {
  const keyId = new Uint8Array(16).fill(sequence);
  return { type: 'shredKey', sequence, timeMs: config.createdAtMs, actor, keyId };
};
const frameOf = (...events: Event[]) => buildFrame(events, EMPTY_LOG, 0, noPause);

/** The frame with the bytes from `at` on replaced, and a matching checksum. */
function altered(frame: Uint8Array, at: number, ...values: number[]): Uint8Array {
  const bytes = frame.slice();
  bytes.set(values, at);
  bytes.set(hash(bytes.subarray(0, -16)).subarray(0, 16), bytes.length - 16);
  return bytes;
}

async function refusal(bytes: Uint8Array): Promise<string> {
  expect((await replayedLog([bytes])).problems, 'the verifier').to.have.length(1);
  return verifyFrame(bytes, EMPTY_LOG, noPause).then(
    () => 'accepted',
    (error: Error) => error.message,
  );
}

describe('the actors of events', () => {
  it('are encoded as documented, and read by engine and verifier', () => {
    expect(toHex(encodeActor(CALLER))).to.equal(ACTOR.toString('hex'));
    expect(toHex(encodeActor(SYSTEM))).to.equal(SYSTEM_ACTOR.toString('hex'));
    for (const actor of [CALLER, SYSTEM, { ...CALLER, onBehalfOf: null }, { ...CALLER, requestId: null }]) {
      const bytes = encodeActor(actor);
      expect(bytes).to.have.length(actorSizeBytes(actor));
      expect(decodeActor(bytes, 0)).to.deep.equal(actor);
      expect(toHex(actorBytes(readActor(bytes)))).to.equal(toHex(bytes));
      expect(actorOf(namedActor(actor))).to.deep.equal(actor);
    }
  });

  it('are refused by engine and verifier with any byte changed that leaves no actor', () => {
    const bytes = encodeActor(CALLER);
    for (let at = 0; at < bytes.length; at++)
      for (const value of [0, 1, 3, 0x20, 0x7e, 0x7f, 0xff]) {
        const changed = bytes.slice();
        changed[at] = value;
        const read = outcome(() => encodeActor(decodeActor(changed, 0)));
        expect(read, `byte ${at} is ${value}`).to.equal(outcome(() => actorBytes(readActor(changed))));
        if (read !== undefined) expect(read).to.equal(toHex(changed));
      }
    for (let length = 0; length < bytes.length; length++)
      expect(
        outcome(() => encodeActor(decodeActor(bytes.subarray(0, length), 0))),
        `cut to ${length}`,
      ).to.equal(outcome(() => actorBytes(readActor(bytes.subarray(0, length)))));
  });

  it('are not written if they have other characters, or too many', () => {
    expect(() => encodeActor({ ...CALLER, keyId: '' })).to.throw(RangeError, 'key id');
    expect(() => encodeActor({ ...CALLER, keyId: 'k'.repeat(65) })).to.throw(RangeError, 'key id');
    expect(() => encodeActor({ ...CALLER, onBehalfOf: 'a b' })).to.throw(RangeError, 'on-behalf-of');
    expect(() => encodeActor({ ...CALLER, requestId: 'é' })).to.throw(RangeError, 'request id');
    expect(() => encodeActor({ ...CALLER, requestId: 'r'.repeat(129) })).to.throw(RangeError, 'request id');
  });

  it('are read from a frame that is written by the documentation, and written as it is', async () => {
    const { frames, chainHeads } = writeLogWithActors();
    let end = EMPTY_LOG;
    const actors: (Actor | null)[] = [];
    for (const { bytes } of frames) {
      const frame = await verifyFrame(bytes, end, noPause);
      const built = await buildFrame(frame.events, end, frame.header.liveRecords, noPause);
      expect(toHex(built.bytes)).to.equal(bytes.toString('hex'));
      actors.push(...frame.events.map(({ actor }) => actor));
      end = frame.end;
    }
    expect(toHex(end.chainHead)).to.equal(toHex(chainHeads.at(-1)!));
    expect(actors).to.deep.equal([null, CALLER, CALLER, SYSTEM]);
  });

  it('take two bytes of each later event of a frame', async () => {
    const events = [genesis, ...[1, 2, 3, 4].map((sequence) => shred(sequence, CALLER))];
    const { bytes } = await frameOf(...events);
    const plain = await frameOf(genesis, ...[1, 2, 3, 4].map((sequence) => shred(sequence, null)));
    expect(bytes.length - plain.bytes.length).to.equal(4 * 2 + actorSizeBytes(CALLER));
    expect(bytes.length).to.equal(frameSizeBytes(events));
    expect((await verifyFrame(bytes, EMPTY_LOG, noPause)).events).to.deep.equal(events);
  });

  it('take at most 40 bytes with a request id that the service made', () => {
    const actor = { keyId: '7f3a52c0d1e9b846', onBehalfOf: null, requestId: '0123456789ab-zzzz' };
    expect(2 + actorSizeBytes(actor)).to.be.at.most(40);
  });

  it('are bound by the chain, whether or not the frame repeats them', async () => {
    const [a, b] = [CALLER, { ...CALLER, onBehalfOf: 'u-18' }];
    const heads = await Promise.all(
      [
        [a, a],
        [a, b],
        [b, b],
        [null, a],
        [null, null],
      ].map(async ([first, second]) => {
        const frame = await frameOf(genesis, shred(1, first as Actor | null), shred(2, second as Actor | null));
        expect((await replayedLog([frame.bytes])).chainHead).to.equal(toHex(frame.end.chainHead));
        return toHex(frame.end.chainHead);
      }),
    );
    expect(new Set(heads).size).to.equal(heads.length);
  });

  it('are refused where a frame lacks, repeats, alters or cuts off one', async () => {
    const { bytes } = await frameOf(genesis, shred(1, CALLER), shred(2, CALLER));
    const actorAt = bytes.indexOf(CALLER.keyId.charCodeAt(0), 64 + 4 + 24 + 44) - 1;
    expect(Buffer.from(bytes.subarray(actorAt, actorAt + ACTOR.length)).equals(ACTOR)).to.equal(true);
    expect(await refusal(altered(bytes, actorAt + 3, 0x38))).to.match(/do not lead to the chain head/);
    expect(await refusal(altered(bytes, actorAt - 2, 0xff, 0xff))).to.match(/reaches beyond the frame/);
    expect(await refusal(altered(bytes, actorAt - 2, 0, 0))).to.match(/no event before it states its actor/);
    expect(await refusal(altered(bytes, actorAt, 200))).to.match(/that are not all there/);
    expect(await refusal(altered(bytes, actorAt + 2, 0x20))).to.match(/not visible ASCII/);
    // Two actors of equal length, the second made equal to the first.
    const two = (await frameOf(genesis, shred(1, CALLER), shred(2, { ...CALLER, requestId: 'r-2' }))).bytes;
    expect(await refusal(altered(two, two.length - 48 - 1, 0x31))).to.match(/repeats the one before it/);
  });
});

/** The bytes in hex; undefined if it throws. */
function outcome(bytes: () => Uint8Array): string | undefined {
  try {
    return toHex(bytes());
  } catch {
    return undefined;
  }
}
