/**
 * Contents of a vault: entries in a folder or a stream, sealed wrapped keys and the master key file. Only written ones
 * are accepted, only under their own names, and each opens only with its own key.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createMasterKeyFile,
  MASTER_KEY_BYTES,
  MasterKeyFileError,
  masterKeyOf,
  readMasterKeyFile,
} from '../../../shard/vault/masterKeyFile.js';
import { DATA_KEY_BYTES, unwrapKey, wrapKey } from '../../../shard/vault/wrappedKey.js';
import { VouchError } from '../../../shared/errors/errors.js';
import { Malformed } from '../../../shared/errors/malformed.js';
import { decodeVaultEntry, encodeVaultEntry } from '../../../shared/vault/entryCodec.js';
import { freshSeal, openSealed, SEAL_BYTES, sealWrapped } from '../../../shared/vault/seal.js';
import type { SeededRandom } from '../../support/model/random.js';
import type { FuzzTarget, Outcome } from '../target.js';

const NAME = { project: 'p', keyId: 'ab'.repeat(16) };

interface Kind {
  readonly sample: Uint8Array;
  /** The decoded content. Throws Malformed, VouchError or MasterKeyFileError for a refused input. */
  readonly read: (input: Uint8Array) => Promise<unknown>;
}

async function kindsOf(random: SeededRandom, folder: string): Promise<readonly Kind[]> {
  const entropy = (length: number): Uint8Array => Uint8Array.from({ length }, () => random.int(256));
  const master = masterKeyOf(entropy(MASTER_KEY_BYTES));
  const wrapped = wrapKey(master, entropy(DATA_KEY_BYTES), NAME, entropy);
  const seals = [freshSeal(entropy), [entropy(SEAL_BYTES)]];
  const active = { status: 'active', wrapped, collectionIds: [1, 2 ** 40], pendingIds: [] } as const;
  const gone = { status: 'shredded', wrapped: null, collectionIds: [1], pendingIds: [1] } as const;
  const readEntry = async (input: Uint8Array): Promise<unknown> => decodeVaultEntry(input, NAME.project, NAME.keyId);
  const file = join(folder, 'master.key');
  await createMasterKeyFile(file, master);
  const readFileOf = async (input: Uint8Array): Promise<unknown> => {
    await writeFile(file, input);
    return readMasterKeyFile(file);
  };
  return [
    { sample: encodeVaultEntry({ ...NAME, entry: active, revision: 5 }), read: readEntry },
    { sample: encodeVaultEntry({ ...NAME, entry: gone, revision: 2 ** 49 }), read: readEntry },
    { sample: wrapped, read: async (input) => unwrapKey(master, input, NAME) },
    ...seals.map((seal) => ({
      sample: sealWrapped(seal, wrapped, NAME, entropy),
      read: async (input: Uint8Array) => openSealed(seal, input, NAME),
    })),
    { sample: await readFile(file), read: readFileOf },
  ];
}

export const vault: FuzzTarget = {
  name: 'vault',
  open: async (random) => {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-fuzz-vault-'));
    const kinds = await kindsOf(random, folder);
    return {
      samples: kinds.map(({ sample }) => sample),
      tryOne: async (input) => {
        let outcome: Outcome = 'refused';
        for (const { read } of kinds) {
          if (!(await isTaken(read(input)))) continue;
          // One reader reads entries of both states.
          if (!kinds.some(({ sample }) => Buffer.compare(sample, input) === 0))
            throw new Error('an altered entry or key is accepted');
          outcome = 'taken';
        }
        return outcome;
      },
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
};

async function isTaken(reading: Promise<unknown>): Promise<boolean> {
  try {
    await reading;
    return true;
  } catch (error) {
    if (error instanceof Malformed || error instanceof VouchError || error instanceof MasterKeyFileError) return false;
    throw error;
  }
}
