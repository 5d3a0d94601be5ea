// Covers: shard/vault/masterKeys.ts, shard/vault/masterKeyFile.ts, shard/vault/payloadCipher.ts
/** The master key file, and data keys wrapped under the master key. */
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  createMasterKeyFile,
  masterKeyOf,
  readMasterKeyFile,
  replaceMasterKeyFile,
} from '../../../../shard/vault/masterKeyFile.js';
import { MasterKeys } from '../../../../shard/vault/masterKeys.js';
import { decrypt, encrypt } from '../../../../shard/vault/payloadCipher.js';
import { masterIdOf, unwrapKey, WRAPPED_KEY_BYTES, wrapKey } from '../../../../shard/vault/wrappedKey.js';
import { systemEntropy } from '../../../../shared/clock.js';
import type { EntryName } from '../../../../shared/vault/entryName.js';
import { expectCode, rejection } from '../../../support/expectations.js';
import { findBytes } from '../../../support/findBytes.js';

const freshKey = () => masterKeyOf(systemEntropy(32));
const KEY_ID = '0123456789abcdef0123456789abcdef';
const NAME: EntryName = { project: 'p', keyId: KEY_ID };
const flipped = (bytes: Uint8Array, at: number): Uint8Array => {
  const copy = Uint8Array.from(bytes);
  copy[at]! ^= 1 << (at % 8);
  return copy;
};

describe('the master key file', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-master-'));
    path = join(folder, 'keys/master.key');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const keys = (): MasterKeys => new MasterKeys(path, systemEntropy);

  it('is made once for concurrent callers, readable by its owner only', async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, () => keys().newestOrFirst()));
    expect(new Set(ids).size).to.equal(1);
    expect(ids[0]).to.match(/^[0-9a-f]{16}$/);
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
    expect(await keys().newestOrFirst()).to.equal(ids[0]);
  });

  it('gives a key an id that does not reveal it', async () => {
    const key = freshKey();
    expect(masterKeyOf(key.bytes).id).to.equal(key.id);
    expect(Buffer.from(key.bytes).toString('hex')).not.to.contain(key.id);
  });

  it('contains the newest key first, and the previous one during a rotation', async () => {
    const [old, fresh] = [freshKey(), freshKey()];
    await createMasterKeyFile(path, old);
    await replaceMasterKeyFile(path, [fresh, old]);
    expect((await readMasterKeyFile(path))!.map(({ id }) => id)).to.deep.equal([fresh.id, old.id]);
    await replaceMasterKeyFile(path, [fresh]);
    expect((await readMasterKeyFile(path))!.map(({ id }) => id)).to.deep.equal([fresh.id]);
    expect(await findBytes(folder, { old: old.bytes })).to.deep.equal([]);
    expect(await findBytes(folder, { fresh: fresh.bytes })).to.have.length(1);
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
  });

  it('is refused with advice if others can read it', async () => {
    await keys().newestOrFirst();
    for (const mode of [0o640, 0o604, 0o620, 0o601]) {
      await chmod(path, mode);
      const { message } = await rejection(keys().newestOrFirst());
      expect(message).to.equal(`the master key file ${path} can be read by others; run: chmod 600 ${path}`);
    }
    await chmod(path, 0o400);
    await keys().newestOrFirst();
  });

  it('is refused with any bit flipped, and truncated or extended', async () => {
    await createMasterKeyFile(path, freshKey());
    await replaceMasterKeyFile(path, [freshKey(), freshKey()]);
    const whole = await readFile(path);
    const bits = Array.from({ length: whole.length * 8 }, (_, bit) => {
      const copy = Buffer.from(whole);
      copy[bit >> 3]! ^= 1 << (bit & 7);
      return copy;
    });
    const cuts = Array.from(whole, (_, length) => whole.subarray(0, length));
    for (const bytes of [...bits, ...cuts, Buffer.concat([whole, Buffer.alloc(1)])]) {
      await writeFile(path, bytes);
      const { message } = await rejection(readMasterKeyFile(path));
      expect(message)
        .to.contain(path)
        .and.to.match(/restore it from a backup$/);
      expect(message).not.to.contain('\n');
    }
  });

  it('is never replaced by a new one if it cannot be read', async () => {
    await createMasterKeyFile(path, freshKey());
    await writeFile(path, 'something else');
    await rejection(keys().newestOrFirst());
    expect(await readFile(path, 'utf8')).to.equal('something else');
    const inTheWay = new MasterKeys(folder, systemEntropy);
    expect((await rejection(inTheWay.newestOrFirst())).message).to.contain(folder);
  });

  it('is read again for an unknown key id', async () => {
    const masterKeys = keys();
    const old = await masterKeys.newestOrFirst();
    const fresh = freshKey();
    expect(await masterKeys.has(fresh.id)).to.equal(false);
    expect(await masterKeys.use(fresh.id, ({ id }) => id)).to.equal(undefined);
    await replaceMasterKeyFile(path, [fresh, ...(await readMasterKeyFile(path))!]);
    expect(await masterKeys.use(fresh.id, ({ bytes }) => Buffer.from(bytes).equals(fresh.bytes))).to.equal(true);
    expect(await masterKeys.has(old)).to.equal(true);
    await replaceMasterKeyFile(path, [fresh]);
    masterKeys.close();
    expect(await masterKeys.has(old)).to.equal(false);
  });

  it('can be read while it is replaced again and again', async () => {
    const masterKeys = keys();
    const first = freshKey();
    await createMasterKeyFile(path, first);
    let replacing = true;
    const replaced = (async () => {
      for (let n = 0; n < 20; n++) await replaceMasterKeyFile(path, n % 2 ? [first] : [freshKey(), first]);
      replacing = false;
    })();
    while (replacing) {
      masterKeys.close();
      expect(await masterKeys.has(first.id)).to.equal(true);
    }
    await replaced;
  });
});

describe('a wrapped data key', () => {
  const [master, other] = [freshKey(), freshKey()];
  const dataKey = systemEntropy(32);
  const wrapped = wrapKey(master, dataKey, NAME, systemEntropy);

  it('is unwrapped by its master key, for its project and key id', () => {
    expect(wrapped).to.have.length(WRAPPED_KEY_BYTES);
    expect(masterIdOf(wrapped, NAME)).to.equal(master.id);
    expect(Buffer.from(unwrapKey(master, wrapped, NAME)).equals(dataKey)).to.equal(true);
    expect(Buffer.from(wrapped).includes(Buffer.from(dataKey))).to.equal(false);
  });

  it('differs each time', () => {
    const again = wrapKey(master, dataKey, NAME, systemEntropy);
    expect(Buffer.from(again).equals(wrapped)).to.equal(false);
    expect(Buffer.from(unwrapKey(master, again, NAME)).equals(dataKey)).to.equal(true);
  });

  it('opens under no other master key, project or key id', async () => {
    const refused = (key: typeof master, name: EntryName) =>
      expectCode((async () => unwrapKey(key, wrapped, name))(), 'internal_error');
    await refused(other, NAME);
    await refused({ id: master.id, bytes: other.bytes }, NAME);
    await refused(master, { ...NAME, project: 'q' });
    await refused(master, { ...NAME, project: '' });
    const error = await refused(master, { ...NAME, keyId: `f${KEY_ID.slice(1)}` });
    expect(error.message).to.contain(`f${KEY_ID.slice(1)}`);
  });

  it('does not open with a bit flipped, truncated or extended', async () => {
    const refused = (bytes: Uint8Array) => expectCode((async () => unwrapKey(master, bytes, NAME))(), 'internal_error');
    for (let at = 0; at < wrapped.length; at++) await refused(flipped(wrapped, at));
    for (let length = 0; length < wrapped.length; length++) await refused(wrapped.subarray(0, length));
    await refused(Buffer.concat([wrapped, Buffer.alloc(1)]));
  });
});

describe('a payload under a data key', () => {
  const associated = Buffer.from('collection 1');
  const key = { bytes: systemEntropy(32), associated };

  it('is decrypted unchanged, at any length', () => {
    for (const length of [0, 1, 15, 16, 17, 65_536]) {
      const plaintext = Buffer.from(systemEntropy(length));
      const encrypted = encrypt(plaintext, key, systemEntropy);
      expect(encrypted.nonce).to.have.length(12);
      expect(encrypted.ciphertext).to.have.length(length + 16);
      expect(decrypt(encrypted, key).equals(plaintext)).to.equal(true);
    }
  });

  it('has a different nonce each time', () => {
    const encrypted = Array.from({ length: 1_000 }, () => encrypt(associated, key, systemEntropy));
    expect(new Set(encrypted.map(({ nonce }) => Buffer.from(nonce).toString('hex'))).size).to.equal(1_000);
  });

  it('opens with no other key, nonce, ciphertext or associated data', async () => {
    const encrypted = encrypt(Buffer.from('for your eyes only'), key, systemEntropy);
    const { nonce, ciphertext } = encrypted;
    const refused = (given: typeof encrypted, other: typeof key) =>
      expectCode((async () => decrypt(given, other))(), 'internal_error');
    await refused(encrypted, { bytes: systemEntropy(32), associated });
    await refused(encrypted, { ...key, associated: Buffer.from('collection 2') });
    await refused(encrypted, { ...key, associated: Buffer.alloc(0) });
    for (let at = 0; at < nonce.length; at++) await refused({ nonce: flipped(nonce, at), ciphertext }, key);
    for (let at = 0; at < ciphertext.length; at++) {
      await refused({ nonce, ciphertext: flipped(ciphertext, at) }, key);
      await refused({ nonce, ciphertext: ciphertext.subarray(0, at) }, key);
    }
    await refused({ nonce: nonce.subarray(1), ciphertext }, key);
  });
});
