import { expect } from 'chai';
import { toHex } from '../../../../shared/hashing/hash.js';
import type { EventUnderKey } from '../../../../shared/log/event.js';
import { decodeEvent, encodeEvent } from '../../../../shared/log/eventCodec.js';
import { EVENT_TYPE, eventSizeBytes } from '../../../../shared/log/eventLayout.js';
import { readEvent } from '../../../../verifier/events.js';

const EXPIRES_AT_MS = 1_700_000_060_000;
const FIELDS = {
  ...{ sequence: 15, timeMs: 1_700_000_001_000, actor: null, recordId: 3, content: null },
  requestId: Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i),
  keyId: Uint8Array.from({ length: 16 }, (_, i) => 0x10 + i),
  ...{ nonce: new Uint8Array(12).fill(8), commitment: new Uint8Array(32).fill(6) },
  ciphertext: new Uint8Array(17).fill(7),
};

/** The documented bytes of an event with these fields. */
const bytesOf = (type: number, flags: string, expiry: string): string =>
  [
    ...['01', type.toString(16).padStart(2, '0'), '000000000000', '0f00000000000000', 'e86be5cf8b010000'],
    ...['0300000000000000', '0000000000000000', 'a0a1a2a3a4a5a6a7a8a9aaabacadaeaf', flags, '000000', '11000000'],
    ...['101112131415161718191a1b1c1d1e1f', '08'.repeat(12), '00000000', '06'.repeat(32), '07'.repeat(17), expiry],
  ].join('');

const SAMPLES: readonly { readonly event: EventUnderKey; readonly hex: string }[] = [
  { event: { type: 'insertUnderKey', ...FIELDS }, hex: bytesOf(15, '01', '') },
  { event: { type: 'replaceUnderKey', ...FIELDS }, hex: bytesOf(16, '01', '') },
  { event: { type: 'updateUnderKey', ...FIELDS }, hex: bytesOf(17, '01', '') },
  {
    event: { type: 'insertUnderKey', ...FIELDS, expiresAtMs: EXPIRES_AT_MS },
    hex: bytesOf(15, '11', '6052e6cf8b010000'),
  },
  {
    event: { type: 'replaceUnderKey', ...FIELDS, expiresAtMs: EXPIRES_AT_MS },
    hex: bytesOf(16, '11', '6052e6cf8b010000'),
  },
];

/** An insert under a key that does not expire, with bytes replaced from `at` on. */
function patched(at: number, ...values: number[]): Uint8Array {
  const bytes = Uint8Array.from(Buffer.from(SAMPLES[0]!.hex, 'hex'));
  bytes.set(values, at);
  return bytes;
}

const isRead = (read: () => unknown): boolean => {
  try {
    read();
    return true;
  } catch {
    return false;
  }
};

describe('an event under a key', () => {
  for (const { event, hex } of SAMPLES)
    it(`is written and read as documented: ${event.type}, ${hex.length / 2} bytes`, () => {
      expect(toHex(encodeEvent(event))).to.equal(hex);
      expect(eventSizeBytes(event)).to.equal(hex.length / 2);
      expect(decodeEvent(Buffer.from(hex, 'hex'))).to.deep.equal(event);
    });

  it('is refused with any truncation or extension', () => {
    for (const { event } of SAMPLES) {
      const bytes = encodeEvent(event);
      for (let length = 0; length < bytes.length; length++)
        expect(() => decodeEvent(bytes.subarray(0, length)), `${event.type} cut to ${length}`).to.throw(/at byte \d+/);
      expect(() => decodeEvent(Uint8Array.of(...bytes, 0)), `${event.type} with one more`).to.throw(/at byte \d+/);
    }
  });

  it('is refused with a changed bit, by the verifier too, unless it could have been written so', () => {
    for (const { event } of SAMPLES) {
      const bytes = encodeEvent(event);
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        const isKnown = isRead(() => decodeEvent(bytes));
        if (isKnown) expect(encodeEvent(decodeEvent(bytes)), `bit ${bit}`).to.deep.equal(bytes);
        expect(
          isRead(() => readEvent(bytes, 'the event')),
          `${event.type}, bit ${bit}`,
        ).to.equal(isKnown);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
      }
    }
  });

  const refused: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['unknown flags', patched(56, 3), /flags 3 of an event under a key/],
    ['a tag', patched(32, 3), /must be zero \(at byte 32\)/],
    ['padding before the commitment', patched(92, 3), /must be zero \(at byte 92\)/],
    ['a ciphertext without its tag', patched(60, 15).subarray(0, 128 + 15), /without its tag \(at byte 60\)/],
    ['an expiry of no date', Uint8Array.of(...patched(56, 17), ...new Uint8Array(8)), /an expiry that no date can be/],
    [
      'an expiry of an update',
      Uint8Array.of(1, EVENT_TYPE.updateUnderKey, ...patched(56, 17).subarray(2), ...new Uint8Array(8).fill(1)),
      /flags 17 of an event under a key/,
    ],
  ];
  for (const [what, bytes, reason] of refused)
    it(`is refused with ${what}`, () => {
      expect(() => decodeEvent(bytes)).to.throw(reason);
    });
});
