// Covers: shared/log/eventCodec.ts, shared/log/eventInsert.ts, shared/log/eventLayout.ts, shared/log/eventBytes.ts
import { expect } from 'chai';
import { toHex } from '../../../../shared/hashing/hash.js';
import type { Event } from '../../../../shared/log/event.js';
import { decodeEvent, encodeEvent } from '../../../../shared/log/eventCodec.js';
import { eventSizeBytes } from '../../../../shared/log/eventLayout.js';
import { readEvent } from '../../../../verifier/events.js';

const utf8 = new TextEncoder();
const hex = ([text]: TemplateStringsArray): string => text!.replace(/\s+/g, '');

/** One event of each type with its exact bytes: existing logs must stay readable. */
const SAMPLES: readonly { readonly event: Event; readonly hex: string }[] = [
  {
    event: {
      type: 'genesis',
      sequence: 0,
      timeMs: 1_700_000_000_123,
      actor: null,
      collectionId: 7,
      dimension: 2,
      metric: 'squared_l2',
      project: 'acme',
      name: 'docs',
    },
    hex: hex`01 01 000000000000 0000000000000000 7b68e5cf8b010000 0700000000000000 02000000 01 04 04 00 61636d65
      646f6373`,
  },
  {
    event: {
      type: 'insert',
      sequence: 1,
      timeMs: 1_700_000_000_456,
      actor: null,
      recordId: 1,
      tag: 9_007_199_254_740_991,
      requestId: Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i),
      vector: Uint8Array.of(0, 0, 1, 0, 0, 0x80, 0xff, 0xff),
      metadata: utf8.encode('{"a":1}'),
      text: utf8.encode('héllo'),
      externalId: null,
    },
    hex: hex`01 02 000000000000 0100000000000000 c869e5cf8b010000 0100000000000000 ffffffffffff1f00
      a0a1a2a3a4a5a6a7a8a9aaabacadaeaf 07 000000 07000000 06000000 02000000 000001000080ffff
      7b2261223a317d 68c3a96c6c6f`,
  },
  {
    event: {
      type: 'insert',
      sequence: 2,
      timeMs: 1_700_000_000_456,
      actor: null,
      recordId: 2,
      tag: 0,
      requestId: null,
      vector: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
      metadata: null,
      text: null,
      externalId: null,
    },
    hex: hex`01 02 000000000000 0200000000000000 c869e5cf8b010000 0200000000000000 0000000000000000
      00000000000000000000000000000000 00 000000 00000000 00000000 02000000 0102030405060708`,
  },
  {
    event: {
      type: 'insert',
      sequence: 12,
      timeMs: 1_700_000_000_456,
      actor: null,
      recordId: 9,
      tag: 0,
      requestId: null,
      vector: Uint8Array.of(1, 2, 3, 4),
      metadata: utf8.encode('{}'),
      text: null,
      externalId: utf8.encode('č/1'),
    },
    hex: hex`01 02 000000000000 0c00000000000000 c869e5cf8b010000 0900000000000000 0000000000000000
      00000000000000000000000000000000 0a 00 0400 02000000 00000000 01000000 01020304 7b7d c48d2f31`,
  },
  {
    event: {
      type: 'replace',
      sequence: 13,
      timeMs: 1_700_000_000_456,
      actor: null,
      recordId: 9,
      tag: 5,
      requestId: null,
      vector: Uint8Array.of(5, 6, 7, 8),
      metadata: null,
      text: utf8.encode('new'),
      externalId: utf8.encode('č/1'),
    },
    hex: hex`01 0c 000000000000 0d00000000000000 c869e5cf8b010000 0900000000000000 0500000000000000
      00000000000000000000000000000000 0c 00 0400 00000000 03000000 01000000 05060708 6e6577 c48d2f31`,
  },
  {
    event: { type: 'softDelete', sequence: 3, timeMs: 1_700_000_000_789, actor: null, recordId: 2 },
    hex: hex`01 03 000000000000 0300000000000000 156be5cf8b010000 0200000000000000`,
  },
  {
    event: { type: 'delete', sequence: 4, timeMs: 1_700_000_000_789, actor: null, recordId: 2 },
    hex: hex`01 04 000000000000 0400000000000000 156be5cf8b010000 0200000000000000`,
  },
  {
    event: {
      type: 'updateMetadata',
      sequence: 5,
      timeMs: 1_700_000_001_000,
      actor: null,
      recordId: 1,
      metadata: utf8.encode('{"b":2}'),
    },
    hex: hex`01 05 000000000000 0500000000000000 e86be5cf8b010000 0100000000000000 07000000 00000000
      7b2262223a327d`,
  },
  {
    event: { type: 'addNode', sequence: 6, timeMs: 1_700_000_001_000, actor: null, nodeId: 1, recordId: 2, kind: 6 },
    hex: hex`01 08 000000000000 0600000000000000 e86be5cf8b010000 0100000000000000 0200000000000000 06 00000000000000`,
  },
  {
    event: { type: 'addNode', sequence: 7, timeMs: 1_700_000_001_000, actor: null, nodeId: 2, recordId: null, kind: 0 },
    hex: hex`01 08 000000000000 0700000000000000 e86be5cf8b010000 0200000000000000 0000000000000000 00 00000000000000`,
  },
  {
    event: { type: 'deleteNode', sequence: 8, timeMs: 1_700_000_001_000, actor: null, nodeId: 2 },
    hex: hex`01 09 000000000000 0800000000000000 e86be5cf8b010000 0200000000000000`,
  },
  {
    event: { type: 'addEdge', sequence: 9, timeMs: 1_700_000_001_000, actor: null, edgeId: 3, from: 1, to: 2, kind: 8 },
    hex: hex`01 0a 000000000000 0900000000000000 e86be5cf8b010000 0300000000000000 0100000000000000 0200000000000000
      08 00000000000000`,
  },
  {
    event: { type: 'deleteEdge', sequence: 10, timeMs: 1_700_000_001_000, actor: null, edgeId: 3 },
    hex: hex`01 0b 000000000000 0a00000000000000 e86be5cf8b010000 0300000000000000`,
  },
  {
    event: {
      type: 'insertEncrypted',
      sequence: 11,
      timeMs: 1_700_000_001_000,
      actor: null,
      recordId: 3,
      tag: 5,
      requestId: Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i),
      keyId: Uint8Array.from({ length: 16 }, (_, i) => 0x10 + i),
      nonce: Uint8Array.from({ length: 12 }, (_, i) => 0x30 + i),
      ciphertext: Uint8Array.from({ length: 18 }, (_, i) => 0x50 + i),
    },
    hex: hex`01 06 000000000000 0b00000000000000 e86be5cf8b010000 0300000000000000 0500000000000000
      a0a1a2a3a4a5a6a7a8a9aaabacadaeaf 01 000000 12000000 101112131415161718191a1b1c1d1e1f
      303132333435363738393a3b 00000000 505152535455565758595a5b5c5d5e5f6061`,
  },
  {
    event: {
      type: 'insertEncrypted',
      sequence: 12,
      timeMs: 1_700_000_001_000,
      actor: null,
      recordId: 4,
      tag: 0,
      requestId: null,
      keyId: new Uint8Array(16).fill(9),
      nonce: new Uint8Array(12).fill(8),
      ciphertext: new Uint8Array(16).fill(7),
    },
    hex: hex`01 06 000000000000 0c00000000000000 e86be5cf8b010000 0400000000000000 0000000000000000
      00000000000000000000000000000000 00 000000 10000000 09090909090909090909090909090909
      080808080808080808080808 00000000 07070707070707070707070707070707`,
  },
  {
    event: {
      type: 'shredKey',
      sequence: 13,
      timeMs: 1_700_000_001_000,
      actor: null,
      keyId: new Uint8Array(16).fill(9),
    },
    hex: hex`01 07 000000000000 0d00000000000000 e86be5cf8b010000 09090909090909090909090909090909`,
  },
  {
    event: {
      type: 'deleteMany',
      sequence: 14,
      timeMs: 1_700_000_001_000,
      actor: null,
      requestId: new Uint8Array(16).fill(0xd),
      deleted: 65_536,
    },
    hex: hex`01 0d 000000000000 0e00000000000000 e86be5cf8b010000 0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d 00000100 00000000`,
  },
  {
    event: {
      type: 'auditReads',
      sequence: 15,
      timeMs: 1_700_000_001_000,
      actor: null,
      kind: 2,
      retentionDays: 36_500,
    },
    hex: hex`01 0e 000000000000 0f00000000000000 e86be5cf8b010000 02 000000 948e0000`,
  },
  {
    event: {
      type: 'genesis',
      sequence: 0,
      timeMs: 1_700_000_000_123,
      actor: null,
      collectionId: 7,
      dimension: 2,
      metric: 'squared_l2',
      normalise: true,
      project: 'acme',
      name: 'docs',
    },
    hex: hex`01 01 000000000000 0000000000000000 7b68e5cf8b010000 0700000000000000 02000000 01 04 04 01 61636d65
      646f6373`,
  },
  {
    event: {
      type: 'genesis',
      sequence: 0,
      timeMs: 1_700_000_000_123,
      actor: null,
      collectionId: 7,
      dimension: 2,
      metric: 'squared_l2',
      text: { language: 'german', version: 1 },
      project: 'acme',
      name: 'docs',
    },
    hex: hex`01 01 000000000000 0000000000000000 7b68e5cf8b010000 0700000000000000 02000000 01 04 04 02 61636d65
      646f6373 01 06 6765726d616e`,
  },
];
const INSERT = SAMPLES[1]!.event as Event & { type: 'insert' };
const ENCRYPTED = SAMPLES.find(({ event }) => event.type === 'insertEncrypted')!.event as Event & {
  type: 'insertEncrypted';
};

const AUDIT = SAMPLES.find(({ event }) => event.type === 'auditReads')!.event as Event & { type: 'auditReads' };
const DELETIONS = SAMPLES.find(({ event }) => event.type === 'deleteMany')!.event as Event & { type: 'deleteMany' };

const sampleOf = (type: Event['type']): Uint8Array =>
  Uint8Array.from(Buffer.from(SAMPLES.find(({ event }) => event.type === type)!.hex, 'hex'));

/** The sample with bytes replaced from `at` on. */
function patched(type: Event['type'], at: number, ...values: number[]): Uint8Array {
  const bytes = sampleOf(type);
  bytes.set(values, at);
  return bytes;
}

/** A genesis whose texts are in German, with one byte changed. */
function inGerman(at: number, value: number): Uint8Array {
  const { event } = SAMPLES.find((sample) => sample.event.type === 'genesis' && sample.event.text !== undefined)!;
  const bytes = encodeEvent(event);
  bytes[at] = value;
  return bytes;
}

/** A replacement with another external id and its matching length. */
function replacementOf(externalId: string): Uint8Array {
  const bytes = Buffer.concat([sampleOf('replace').subarray(0, 79), Buffer.from(externalId)]);
  bytes.writeUInt16LE(externalId.length, 58);
  return bytes;
}

/** An encrypted insert with a ciphertext of 15 bytes, one too few. */
function shortCiphertext(): Uint8Array {
  const bytes = sampleOf('insertEncrypted').slice(0, 96 + 15);
  bytes[60] = 15;
  return bytes;
}

describe('the event codec', () => {
  for (const { event, hex } of SAMPLES)
    it(`writes and reads ${event.type} ${event.sequence} as documented`, () => {
      expect(toHex(encodeEvent(event))).to.equal(hex);
      expect(eventSizeBytes(event)).to.equal(hex.length / 2);
      expect(decodeEvent(Buffer.from(hex, 'hex'))).to.deep.equal(event);
    });

  it('refuses every truncation and every extension', () => {
    for (const { event } of SAMPLES) {
      const bytes = encodeEvent(event);
      for (let length = 0; length < bytes.length; length++)
        expect(() => decodeEvent(bytes.subarray(0, length)), `${event.type} cut to ${length}`).to.throw(/at byte \d+/);
      expect(() => decodeEvent(Uint8Array.of(...bytes, 0)), `${event.type} with one more`).to.throw(/at byte \d+/);
    }
  });

  it('accepts only bytes that it would write, exactly those that the verifier accepts', () => {
    for (const { event } of SAMPLES) {
      const bytes = encodeEvent(event);
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        const read = resultOf(() => decodeEvent(bytes));
        const verified = resultOf(() => readEvent(Buffer.from(bytes), 'the event'));
        expect(read === undefined, `bit ${bit} of ${event.type}`).to.equal(verified === undefined);
        if (read !== undefined) expect(toHex(encodeEvent(read))).to.equal(toHex(bytes));
        bytes[bit >> 3]! ^= 1 << (bit & 7);
      }
    }
  });

  const refused: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['an unknown version', patched('delete', 0, 3), /event version 3; this program knows 1 and 2 \(at byte 0\)/],
    ['version 2 without an actor', patched('delete', 0, 2), /an event without its actor \(at byte 0\)/],
    ['an unknown type', patched('delete', 1, 18), /event type 18 is not known to this program \(at byte 1\)/],
    ['padding in the header', patched('delete', 5, 1), /must be zero \(at byte 5\)/],
    ['a sequence of 2^53', patched('delete', 14, 0x20), /2\^53 or more \(at byte 8\)/],
    ['a time of 2^53', patched('delete', 22, 0x20), /2\^53 or more \(at byte 16\)/],
    ['a time that no date can be', patched('delete', 22, 0x1f), /a time that no date can be \(at byte 16\)/],
    ['record 0', patched('delete', 24, 0), /record id 0 \(at byte 24\)/],
    ['a write with sequence 0', patched('delete', 8, 0), /genesis, and nothing else, has sequence 0/],
    ['a genesis with sequence 1', patched('genesis', 8, 1), /genesis, and nothing else, has sequence 0/],
    ['an unknown metric', patched('genesis', 36, 2), /metric 2 is not known \(at byte 36\)/],
    ['a text language that is not known', inGerman(50, 0x61), /texts in aerman, version 1, are not known/],
    ['a text language of a later version', inGerman(48, 2), /texts in german, version 2, are not known/],
    ['a text language that is too short', inGerman(49, 7), /whose fields take/],
    ['unknown genesis flags', patched('genesis', 39, 4), /genesis flags 4 are not known \(at byte 39\)/],
    ['dimension 0', patched('genesis', 32, 0), /a dimension of 0 \(at byte 32\)/],
    ['a project that is not UTF-8', patched('genesis', 40, 0xff), /not UTF-8 \(at byte 40\)/],
    ['unknown insert flags', patched('insert', 56, 32), /insert flags 32 are not known \(at byte 56\)/],
    ['a request id without its flag', patched('insert', 56, 6), /must be zero \(at byte 40\)/],
    ['metadata without its flag', patched('insert', 56, 5), /metadata without its flag \(at byte 60\)/],
    ['text without its flag', patched('insert', 56, 3), /text without its flag \(at byte 64\)/],
    ['an external id without its flag', patched('replace', 56, 4), /an external id without its flag \(at byte 58\)/],
    ['a replacement without an external id', replacementOf(''), /an external id of 0 bytes \(at byte 79\)/],
    ['an external id of 257 bytes', replacementOf('x'.repeat(257)), /an external id of 257 bytes \(at byte 79\)/],
    [
      'an external id that is not UTF-8',
      patched('replace', 80, 0xff),
      /an external id that is not UTF-8 \(at byte 79\)/,
    ],
    ['text that is not UTF-8', patched('insert', 88, 0xff), /text that is not UTF-8 \(at byte 87\)/],
    ['a dimension over the limit', patched('insert', 68, 1, 0x80), /a dimension of 32769 \(at byte 68\)/],
    ['a node of no kind there is', patched('addNode', 40, 7), /a kind of 7 \(at byte 40\)/],
    ['an edge of no kind there is', patched('addEdge', 48, 9), /a kind of 9 \(at byte 48\)/],
    ['an edge from node 0', patched('addEdge', 32, 0), /node id 0 \(at byte 32\)/],
    ['padding in a node', patched('addNode', 47, 1), /must be zero \(at byte 47\)/],
    ['padding in an update', patched('updateMetadata', 36, 1), /must be zero \(at byte 36\)/],
    ['flags of an insert in an encrypted one', patched('insertEncrypted', 56, 3), /flags 3 of an encrypted insert/],
    ['a request id without its flag when encrypted', patched('insertEncrypted', 56, 0), /must be zero \(at byte 40\)/],
    ['padding after the flags', patched('insertEncrypted', 57, 1), /must be zero \(at byte 57\)/],
    ['padding after the nonce', patched('insertEncrypted', 92, 1), /must be zero \(at byte 92\)/],
    ['an encrypted record 0', patched('insertEncrypted', 24, 0), /record id 0 \(at byte 24\)/],
    ['the end of no deletion', patched('deleteMany', 42, 0), /the end of no deletion \(at byte 40\)/],
    ['padding after the deletions', patched('deleteMany', 44, 1), /must be zero \(at byte 44\)/],
    ['an audit of reads of no kind there is', patched('auditReads', 24, 3), /a kind of 3 \(at byte 24\)/],
    ['padding after the kind of an audit', patched('auditReads', 25, 1), /must be zero \(at byte 25\)/],
    ['a retention above a hundred years', patched('auditReads', 28, 0x95), /above 36500 \(at byte 28\)/],
    ['a ciphertext without its tag', shortCiphertext(), /a ciphertext without its tag \(at byte 60\)/],
  ];
  for (const [what, bytes, reason] of refused)
    it(`refuses ${what}`, () => {
      expect(() => decodeEvent(bytes)).to.throw(reason);
    });

  const unwritable: readonly (readonly [string, Event, RegExp])[] = [
    ['a tag of 2^53', { ...INSERT, tag: 2 ** 53 }, /not an integer below 2\^53/],
    ['a fractional time', { ...INSERT, timeMs: 0.5 }, /not an integer below 2\^53/],
    ['a time that no date can be', { ...INSERT, timeMs: 8_640_000_000_000_001 }, /which no date can be/],
    ['a negative record id', { ...INSERT, recordId: -1 }, /not an integer below 2\^53/],
    ['record 0', { ...INSERT, recordId: 0 }, /begin at 1/],
    ['half a component', { ...INSERT, vector: new Uint8Array(6) }, /a dimension of 1.5/],
    ['no component', { ...INSERT, vector: new Uint8Array(0) }, /a dimension of 0/],
    ['a short request id', { ...INSERT, requestId: new Uint8Array(15) }, /request id must have 16 bytes/],
    ['an empty external id', { ...INSERT, externalId: new Uint8Array(0) }, /an external id of 0 bytes/],
    ['an external id of 257 bytes', { ...INSERT, externalId: new Uint8Array(257) }, /an external id of 257 bytes/],
    ['16 MiB of metadata', { ...INSERT, metadata: new Uint8Array(2 ** 24) }, /the limit is 16 MiB/],
    ['an insert as the first event', { ...INSERT, sequence: 0 }, /genesis, and nothing else, has sequence 0/],
    ['a short key id', { ...ENCRYPTED, keyId: new Uint8Array(15) }, /a key id must have 16 bytes/],
    ['a long nonce', { ...ENCRYPTED, nonce: new Uint8Array(16) }, /a nonce must have 12 bytes/],
    ['a ciphertext without its tag', { ...ENCRYPTED, ciphertext: new Uint8Array(15) }, /without its tag/],
    ['the end of no deletion', { ...DELETIONS, deleted: 0 }, /the end of no deletion/],
    ['a retention above a hundred years', { ...AUDIT, retentionDays: 36_501 }, /a retentionDays of 36501/],
    [
      'a deletion with a short request id',
      { ...DELETIONS, requestId: new Uint8Array(15) },
      /request id must have 16 bytes/,
    ],
    ['an empty name', { ...(SAMPLES[0]!.event as Event & { type: 'genesis' }), name: '' }, /1 to 255 bytes/],
  ];
  for (const [what, event, reason] of unwritable)
    it(`does not write ${what}`, () => {
      expect(() => encodeEvent(event)).to.throw(RangeError, reason);
    });
});

function resultOf<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
