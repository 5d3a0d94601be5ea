/** The search for secrets that the erasure tests rely on: it must find what is there, or they prove nothing. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findBytes } from '../../../support/findBytes.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('the search for secrets in files', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-find-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('finds a secret in every form, at every offset of a base64 text, below every folder', async () => {
    const { int } = seededRandom(testSeed());
    const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => int(256)));
    const secret = noise(32);
    const around = Array.from({ length: 12 }, (_, n) => Buffer.concat([noise(n), secret, noise(int(9))]));
    await mkdir(join(folder, 'a/b'), { recursive: true });
    await writeFile(join(folder, 'a/b/raw'), Buffer.concat([noise(77), secret, noise(5), secret]));
    await writeFile(join(folder, 'hex'), `x${secret.toString('hex')}${secret.toString('hex').toUpperCase()}`);
    for (const [n, bytes] of around.entries()) {
      await writeFile(join(folder, `base64-${n}`), `{"data":"${bytes.toString('base64')}"}`);
      await writeFile(join(folder, `base64url-${n}`), `x.${bytes.toString('base64url')}.y`);
    }
    await writeFile(
      join(folder, 'none'),
      Buffer.concat([noise(50), Buffer.of(secret[0]! ^ 1), secret.subarray(1), noise(50)]),
    );
    const found = await findBytes(folder, { secret });
    expect(found.filter(({ form }) => form === 'raw')).to.have.deep.members([
      { name: 'secret', form: 'raw', file: 'a/b/raw', offset: 77 },
      { name: 'secret', form: 'raw', file: 'a/b/raw', offset: 77 + 32 + 5 },
    ]);
    expect(found.filter(({ form }) => form === 'hex').map(({ offset }) => offset)).to.have.members([1, 65]);
    const texts = new Set(found.filter(({ form }) => form === 'base64').map(({ file }) => file));
    expect(texts.size).to.equal(24);
  });

  it('finds a secret once if it crosses the boundary between two reads of a large file', async () => {
    const secret = Buffer.from('a secret of some length');
    for (const offset of [2 ** 20 - 1, 2 ** 20 - 10, 2 ** 20, 2 ** 21 - secret.length, 2 ** 21 + 5]) {
      const bytes = Buffer.alloc(2 ** 21 + 100);
      bytes.set(secret, offset);
      await writeFile(join(folder, 'large'), bytes);
      expect(await findBytes(folder, { secret })).to.deep.equal([
        { name: 'secret', form: 'raw', file: 'large', offset },
      ]);
    }
  });
});
