/**
 * Damages the files that a start reads besides collections: the registry, the master key with its mark in the vault,
 * and the signing key. At every byte of each, flips a bit, and cuts the file off. The reader either refuses the file by
 * name, or reads what was written. `damage.long.test.ts` starts the whole service over some of these.
 */
import { join } from 'node:path';
import { expect } from 'chai';
import { DataKeys } from '../../shard/vault/dataKeys.js';
import { MASTER_ENTRY } from '../../shard/vault/wrappedKey.js';
import type { Bucket } from '../../shared/bucket/bucket.js';
import { BUCKETS, type BucketName } from '../../shared/bucket/buckets.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { silentLogger } from '../../shared/logger.js';
import { openFolderVault, openRegistryBucket } from '../../shared/platform/standalonePlatform.js';
import { createKey } from '../../shared/registry/keys.js';
import { openSigner } from '../../shared/signing/signer.js';
import { projectToHex } from '../../shared/vault/entryName.js';
import { ShredNotes } from '../../shared/vault/shredNotes.js';
import type { StoredVaultEntry, VaultStore } from '../../shared/vault/vaultStore.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import { AlikeFolder } from '../support/rigs/alikeFolder.js';

const MASTER_KEY = 'master.key';
const SIGNING_KEY = 'signing.key';
/** Buckets whose entries have a time to live. */
const IN_MEMORY: readonly BucketName[] = [BUCKETS.shards, BUCKETS.leases];
/** Has entries only after a failed opening. */
const EMPTY: readonly BucketName[] = [BUCKETS.openings];
const MARK_FILE = `vault/${projectToHex(MASTER_ENTRY.project)}/${MASTER_ENTRY.keyId}`;

/** Reads the file as a text. Throws the error of a refused start. */
type Read = () => Promise<string>;
interface Came {
  readonly text?: string;
  readonly error?: Error;
}

describe('damage at any byte of the files that a start needs', () => {
  const random = seededRandom(testSeed());
  const counts: Record<string, number> = {};
  let folder: AlikeFolder;

  before(async () => {
    const bare = await AlikeFolder.make({ replayed: 1, restored: 0, plain: 0 });
    await withBucket(bare.path, BUCKETS.keys, (keys) =>
      createKey(keys, { project: 'p', scope: 'admin' }, systemClock, systemEntropy),
    );
    await withBucket(bare.path, BUCKETS.shreds, (shreds) =>
      new ShredNotes(shreds, systemClock).set('p', MASTER_ENTRY.keyId),
    );
    await withBucket(bare.path, BUCKETS.serviceLog, (log) =>
      log.create('identity', { origin: 'vouch.example/log', public_key: 'ab'.repeat(32) }),
    );
    folder = bare.asItIs();
  });
  after(() => {
    folder?.remove();
    console.log('      cases:', counts);
  });

  /** Damages the file at every byte; `judge` gets the outcome of reading it. */
  async function atEveryByte(file: string, read: Read, judge: (came: Came) => void): Promise<void> {
    const original = await read();
    const whole = folder.contentOf(file);
    for (const [at, byte] of whole.entries())
      for (const way of ['changed', 'cut off'] as const) {
        const hurt = Buffer.from(whole.subarray(0, way === 'changed' ? whole.length : at));
        if (way === 'changed') hurt[at] = byte ^ (1 << random.int(8));
        folder.write(file, hurt);
        const came: Came = await read().then(
          (text) => ({ text }),
          (error: Error) => ({ error }),
        );
        try {
          judge(came);
          expect(folder.now(file)?.equals(hurt), 'the damaged bytes are gone').to.equal(true);
        } catch (error) {
          throw new Error(`${file} ${way} at ${at}: ${messageOf(error)}`, { cause: error });
        }
        const kind = `${file.split('/').slice(0, 2).join('/')} ${came.text === original ? 'read as it was' : 'refused'}`;
        counts[kind] = (counts[kind] ?? 0) + 1;
      }
    folder.write(file, whole);
  }

  const refusedByName =
    (file: string, whole: string) =>
    ({ text, error }: Came): void => {
      if (error === undefined) expect(text).to.equal(whole);
      else expect(error.message).to.contain(join(folder.path, file));
    };

  it('in the registry is refused by name or without effect', async () => {
    for (const bucket of Object.values(BUCKETS).filter((name) => ![...IN_MEMORY, ...EMPTY].includes(name))) {
      const files = folder.files.filter((path) => path.startsWith(`registry/${bucket}/`) && path.endsWith('.json'));
      expect(files, bucket).not.to.deep.equal([]);
      const read: Read = () => withBucket(folder.path, bucket, entriesOf);
      const whole = await read();
      for (const file of files) await atEveryByte(file, read, refusedByName(file, whole));
    }
  });

  it('in the signing key is refused by name or without effect', async () => {
    const read: Read = async () => toHex((await openSigner(join(folder.path, SIGNING_KEY))).publicKey);
    await atEveryByte(SIGNING_KEY, read, refusedByName(SIGNING_KEY, await read()));
  });

  for (const file of [MASTER_KEY, MARK_FILE])
    it(`in ${file} makes no key under another master key, and damages no entry`, async () => {
      const vault = await openFolderVault(folder.path);
      const entry = await onlyEntryOf(vault, folder.collections[0]!.name);
      const read: Read = async () => {
        const keys = await DataKeys.open({
          ...{ vault, masterKeyFile: join(folder.path, MASTER_KEY), logger: silentLogger },
        });
        try {
          const problem = await keys.problem();
          return `${problem === undefined ? 'whole' : 'reported'}, ${await keys.check(entry)}`;
        } finally {
          keys.close();
        }
      };
      const expected = { [MASTER_KEY]: 'reported, elsewhere', [MARK_FILE]: 'reported, opens' }[file];
      expect(await read()).to.equal('whole, opens');
      await atEveryByte(file, read, ({ text }) => expect(text).to.equal(expected));
      await vault.close();
    });
});

async function withBucket<T>(dataDir: string, name: BucketName, work: (bucket: Bucket) => Promise<T>): Promise<T> {
  const bucket = await openRegistryBucket({ dataDir, logger: silentLogger }, name);
  try {
    return await work(bucket);
  } finally {
    await bucket.close();
  }
}

async function entriesOf(bucket: Bucket): Promise<string> {
  const entries: string[] = [];
  const watch = await bucket.watch(({ entry }) => entries.push(JSON.stringify(entry)));
  watch.stop();
  return entries.sort().join('\n');
}

async function onlyEntryOf(vault: VaultStore, project: string): Promise<StoredVaultEntry> {
  for await (const entry of vault.list(() => undefined)) if (entry.project === project) return entry;
  throw new Error('the project has no entry');
}
