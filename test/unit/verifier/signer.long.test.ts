// Covers: verifier/ed25519.ts, verifier/checkpoint.ts, scripts/verify/
/** Keys of signers in the verifier: no known key, and keys under which anyone can sign. */
import { createPublicKey, generateKeyPairSync, verify as holds, sign } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha512 } from '@noble/hashes/sha2.js';
import { expect } from 'chai';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { isEntryOf } from '../../../shared/registry/entryShapes.js';
import { verifyCheckpoint } from '../../../verifier/checkpoint.js';
import { isSigned } from '../../../verifier/ed25519.js';
import { verify, withFolder } from '../../support/launch/runVerify.js';
import {
  PUBLIC_KEY,
  writeCheckpoint,
  writeConsistency,
  writeExport,
  writeInclusion,
  writeLog,
} from '../../support/rigs/writtenLog.js';

/** A foreign key: RFC 8032, section 7.1, test 1. */
const ANOTHER_KEY = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';

const P = 2n ** 255n - 19n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const SIGN = 2n ** 255n;
const hexOf = (value: bigint): string => {
  const bytes = Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse();
  return bytes.toString('hex');
};
const numberOf = (bytes: Buffer): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);

/** The y of the points of order 8, as published in "Taming the many EdDSAs" (Chalkias, Garillot, Nikolaenko, 2020). */
const ORDER_8 = [
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
].map((hex) => numberOf(Buffer.from(hex, 'hex')));
/** The eight points of small order, and every other encoding of them that some decoder accepts. */
const SMALL_ORDER = [0n, 1n, P - 1n, P, P + 1n, ...ORDER_8].flatMap((y) => [hexOf(y), hexOf(y + SIGN)]);
/** Encodings of points of full order with y beyond the field, for y = 3, 4 and so on. */
const NOT_CANONICAL = [3n, 4n, 5n, 6n, 18n].flatMap((y) => [hexOf(P + y), hexOf(P + y + SIGN)]);

const spki = (publicKey: string) =>
  createPublicKey({ key: Buffer.from(`302a300506032b6570032100${publicKey}`, 'hex'), format: 'der', type: 'spki' });

/** R is the neutral point and S is 0: valid for each text whose hash is a multiple of the key's order. */
const NOBODYS_SIGNATURE = `01${'00'.repeat(63)}`;

/** The checkpoint with a time for which the signature is valid under the key by OpenSSL; undefined if no time fits. */
function forged(note: string, publicKey: string) {
  const lines = note.split('\n');
  for (let timeMs = 0; timeMs < 200; timeMs++) {
    const checkpoint = [...lines.slice(0, 6), String(timeMs), ''].join('\n');
    if (holds(null, Buffer.from(checkpoint), spki(publicKey), Buffer.from(NOBODYS_SIGNATURE, 'hex')))
      return { checkpoint, signature: NOBODYS_SIGNATURE, public_key: publicKey, key_id: publicKey.slice(0, 16) };
  }
  return undefined;
}

describe('npm run verify and the signer', () => {
  it('exits with 3 for signed input without a key, 0 under its key, 1 under another', () =>
    withFolder(async (folder) => {
      const log = writeLog();
      const size = log.events.length;
      const at = (name: string): string => join(folder, name);
      await writeFile(at('log'), (await writeExport(log)).bytes);
      await writeFile(at('checkpoint'), JSON.stringify(await writeCheckpoint(log, size)));
      await writeFile(at('inclusion'), JSON.stringify(writeInclusion(log, 2, size)));
      await writeFile(at('consistency'), JSON.stringify(writeConsistency(log, 3, size)));
      for (const args of [
        ['checkpoint', at('checkpoint')],
        ['log', at('log')],
        ['log', at('log'), '--checkpoint', at('checkpoint')],
        ['inclusion', at('inclusion'), '--checkpoint', at('checkpoint')],
        ['consistency', at('consistency'), '--checkpoint', at('checkpoint')],
      ]) {
        const unknown = await verify(args);
        expect(unknown.code, args.join(' ')).to.equal(3);
        expect(unknown.text).to.match(
          new RegExp(`! signed with {3}${PUBLIC_KEY}\n {16}this signer is unknown: give the key .* with --key`),
        );
        expect((await verify([...args, '--key', PUBLIC_KEY])).code, args.join(' ')).to.equal(0);
        const other = await verify([...args, '--key', ANOTHER_KEY]);
        expect(other.text).to.contain(`it is signed with another key, ${PUBLIC_KEY}`);
        expect(other.code, args.join(' ')).to.equal(1);
      }
      for (const proof of ['inclusion', 'consistency']) expect((await verify([proof, at(proof)])).code).to.equal(0);
    }));

  it('refuses keys of small order, under which a signature without a private key is valid', async () => {
    const { checkpoint: note } = await writeCheckpoint(writeLog(), 3);
    const believed = new Set<string>();
    for (const key of SMALL_ORDER) {
      const made = forged(note, key);
      if (made !== undefined) believed.add(key);
      const claim = made ?? { checkpoint: note, signature: NOBODYS_SIGNATURE, public_key: key };
      expect(() => verifyCheckpoint(claim, key)).to.throw(
        `its public key ${key} vouches for nothing: it is of small order: anyone can sign under it`,
      );
    }
    // The danger is real: OpenSSL accepts the forgery for keys of each of the four orders.
    expect(believed).to.include.members([hexOf(1n), hexOf(P - 1n), hexOf(0n), hexOf(ORDER_8[0]!), hexOf(ORDER_8[1]!)]);
  });

  it('refuses a second encoding of a key, and a signature whose scalar is not reduced', async () => {
    const signed = await writeCheckpoint(writeLog(), 3);
    for (const key of NOT_CANONICAL)
      expect(() => verifyCheckpoint({ ...signed, public_key: key, key_id: key.slice(0, 16) })).to.throw(
        `its public key ${key} vouches for nothing: it is not encoded as RFC 8032 asks`,
      );
    expect(verifyCheckpoint(signed).publicKey).to.equal(PUBLIC_KEY);
    const bytes = Buffer.from(signed.signature, 'hex');
    const unreduced = bytes.subarray(0, 32).toString('hex') + hexOf(numberOf(bytes.subarray(32)) + L);
    expect(() => verifyCheckpoint({ ...signed, signature: unreduced })).to.throw('the signature is not of this text');
  });

  it('accepts exactly the signatures that OpenSSL accepts', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    const text = Buffer.from('what was signed');
    const signature = sign(null, text, privateKey);
    expect(isSigned(text, signature, raw)).to.equal(true);
    for (let bit = 0; bit < 8 * signature.length; bit += 5) {
      const flipped = Buffer.from(signature);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(isSigned(text, flipped, raw), `bit ${bit}`).to.equal(false);
      expect(holds(null, text, publicKey, flipped), `bit ${bit}`).to.equal(false);
    }
  });

  it('refuses a signature that is valid only with the cofactor of 8', () => {
    const { Point, utils } = ed25519;
    const text = Buffer.from('what was signed');
    const { scalar, pointBytes } = utils.getExtendedPublicKey(Buffer.alloc(32, 9));
    const r = 12_345n;
    const R = Point.BASE.multiply(r)
      .add(Point.fromHex(hexOf(ORDER_8[0]!)))
      .toBytes();
    const k = numberOf(Buffer.from(sha512(Buffer.concat([R, pointBytes, text])))) % L;
    const signature = Buffer.concat([R, Buffer.from(hexOf((r + k * scalar) % L), 'hex')]);
    // Valid with the cofactor of 8; invalid without it, as OpenSSL verifies.
    expect(ed25519.verify(signature, text, pointBytes, { zip215: false })).to.equal(true);
    expect(holds(null, text, spki(PUBLIC_KEY), signature)).to.equal(false);
    expect(Buffer.from(pointBytes).toString('hex')).to.equal(PUBLIC_KEY);
    expect(isSigned(text, signature, pointBytes)).to.equal(false);
  });

  it('gets no such key from the service: its list of signers refuses them', () => {
    const signer = { shards: ['s1'], since_ms: 1 };
    for (const key of [PUBLIC_KEY, ANOTHER_KEY]) expect(isEntryOf(BUCKETS.signers, key, signer)).to.equal(true);
    for (const key of [...SMALL_ORDER, ...NOT_CANONICAL, ANOTHER_KEY.toUpperCase(), 'ab'])
      expect(isEntryOf(BUCKETS.signers, key, signer), key).to.equal(false);
  });
});
