import { createPublicKey, verify } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { toHex } from '../../../../shared/hashing/hash.js';
import { silentLogger } from '../../../../shared/logger.js';
import { earlierKeysOf, listSigners, registerSigner } from '../../../../shared/registry/signers.js';
import { openSigner, publicSigningKey } from '../../../../shared/signing/signer.js';
import { rejection } from '../../../support/expectations.js';

describe('the signing key', () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-signer-'));
    file = join(folder, 'keys', 'signing.key');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is made at the first start, readable by its owner only, and kept', async () => {
    const first = await openSigner(file);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    const content = await readFile(file, 'utf8');
    expect(content).to.match(/^Vouch signing key [0-9a-f]{64}\n-----BEGIN PRIVATE KEY-----\n/);
    const again = await openSigner(file);
    expect(toHex(again.publicKey)).to.equal(toHex(first.publicKey));
    expect(await publicSigningKey(file)).to.equal(toHex(first.publicKey));
    expect(await readFile(file, 'utf8')).to.equal(content);
    // The raw public key, as the service publishes it, is all that a verifier needs.
    const x = Buffer.from(first.publicKey).toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    expect(verify(null, Buffer.from('text é'), key, again.sign('text é'))).to.equal(true);
    expect(verify(null, Buffer.from('text e'), key, again.sign('text é'))).to.equal(false);
  });

  it('is one for all processes that start at once', async () => {
    const signers = await Promise.all(Array.from({ length: 8 }, () => openSigner(file)));
    expect(new Set(signers.map(({ publicKey }) => toHex(publicKey))).size).to.equal(1);
  });

  it("is refused by its file's name if others can read it or it is not an Ed25519 key", async () => {
    await openSigner(file);
    for (const mode of [0o640, 0o604, 0o620]) {
      await chmod(file, mode);
      expect((await rejection(openSigner(file))).message).to.match(/signing\.key can be read or written by others/);
    }
    await chmod(file, 0o600);
    for (const text of ['', 'no key', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n', OTHER_KIND]) {
      await writeFile(file, text);
      expect((await rejection(openSigner(file))).message, text).to.match(/signing\.key is not an Ed25519 key/);
    }
  });

  it('is refused if it differs from the public key in its file, if the file has one', async () => {
    const { publicKey } = await openSigner(file);
    const lines = (await readFile(file, 'utf8')).split('\n');
    const other = join(folder, 'other.key');
    await openSigner(other);
    const otherLines = (await readFile(other, 'utf8')).split('\n');
    await writeFile(file, [lines[0], ...otherLines.slice(1)].join('\n'));
    expect((await rejection(openSigner(file))).message).to.match(/signing\.key is damaged/);
    await writeFile(file, lines.slice(1).join('\n'));
    expect(toHex((await openSigner(file)).publicKey)).to.equal(toHex(publicKey));
  });

  it('is registered once for all shards that use it, oldest first', async () => {
    let nowMs = 1_000;
    const clock = { ...systemClock, nowMs: () => (nowMs += 1_000) };
    const bucket = new MemoryBucket({ logger: silentLogger });
    const [a, b] = ['aa'.repeat(32), 'bb'.repeat(32)] as [string, string];
    expect(await registerSigner(bucket, b, 's1', clock)).to.equal(true);
    expect(await registerSigner(bucket, b, 's1', clock)).to.equal(false);
    await Promise.all(['s2', 's3', 's1'].map((shard) => registerSigner(bucket, b, shard, clock)));
    await registerSigner(bucket, a, 's4', clock);
    const listed = await listSigners(bucket);
    expect(listed.map(({ publicKey, shards }) => [publicKey, shards])).to.deep.equal([
      [b, ['s1', 's2', 's3']],
      [a, ['s4']],
    ]);
    expect(listed[0]!.sinceMs).to.be.below(listed[1]!.sinceMs);
    bucket.close();
  });

  it('is reported with the earlier keys of its shard, if there are any', async () => {
    const bucket = new MemoryBucket({ logger: silentLogger });
    const [a, b, c] = ['aa'.repeat(32), 'bb'.repeat(32), 'cc'.repeat(32)] as [string, string, string];
    await registerSigner(bucket, a, 's1', systemClock);
    expect(await earlierKeysOf(bucket, a, 's1')).to.deep.equal([]);
    await registerSigner(bucket, b, 's2', systemClock);
    expect(await earlierKeysOf(bucket, b, 's2')).to.deep.equal([]);
    await registerSigner(bucket, c, 's1', systemClock);
    expect(await earlierKeysOf(bucket, c, 's1')).to.deep.equal([a]);
    bucket.close();
  });
});

/** An X25519 key. */
const OTHER_KIND = [
  '-----BEGIN PRIVATE KEY-----',
  'MC4CAQAwBQYDK2VuBCIEIHBuO0Wuh0BGb6T9VsLSNb6QCdgdb3KNYGYNjwkZ/JZX',
  '-----END PRIVATE KEY-----',
  '',
].join('\n');
