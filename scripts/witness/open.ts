/** Opens a witness in its folder: its key, and one file with the seen checkpoints, replaced as a whole before each answer. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import typia from 'typia';
import { ifThere, makeDirectory, replaceFile } from '../../shared/files/durable.js';
import { lockFolder } from '../../shared/files/folderLock.js';
import { openSigner } from '../../shared/signing/signer.js';
import { COSIGNATURE, formatVerifierKey, verifierKey } from '../../verifier/index.js';
import { Witness, type WitnessParts } from './witness.js';

/** The stored form: origin → the newest checkpoint with this witness' cosignature, a signed note. */
interface Seen {
  readonly version: 1;
  readonly checkpoints: Readonly<Record<string, string>>;
}

const isSeen = typia.createIs<Seen>();

interface OpenedWitness {
  readonly witness: Witness;
  /** Its verifier key. */
  readonly verifierKey: string;
  close(): Promise<void>;
}

/** Throws an Error of one line if another witness uses the folder, or the seen checkpoints cannot be read. */
export async function openWitness(
  folder: string,
  name: string,
  { logs, clock, onRefused }: Pick<WitnessParts, 'logs' | 'clock' | 'onRefused'>,
): Promise<OpenedWitness> {
  await makeDirectory(folder);
  const lock = await lockFolder(folder, 'name another with --folder');
  try {
    const file = join(folder, 'seen.json');
    const signer = await openSigner(join(folder, 'witness.key'));
    const key = verifierKey(name, COSIGNATURE, signer.publicKey);
    const seen = await readSeen(file);
    const save = (checkpoints: ReadonlyMap<string, string>): Promise<void> =>
      replaceFile(file, `${JSON.stringify({ version: 1, checkpoints: Object.fromEntries(checkpoints) }, null, 1)}\n`);
    const witness = new Witness({ key, signer, logs, seen, save, clock, onRefused });
    return { witness, verifierKey: formatVerifierKey(key), close: () => lock.release() };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Reads the seen checkpoints. A damaged file is refused: a witness without memory would cosign anything. */
async function readSeen(file: string): Promise<ReadonlyMap<string, string>> {
  const text = await ifThere(readFile(file, 'utf8'));
  if (text === undefined) return new Map();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (!isSeen(value)) throw new Error(`${file} does not have the checkpoints of a witness; put it back from a copy`);
  return new Map(Object.entries(value.checkpoints));
}
