/**
 * A node's signing key: Ed25519, in a file of its own that only its owner may read (PKCS#8, PEM), made at the first start
 * of any process of the data folder.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, createFile, makeDirectory, PRIVATE_MODE } from '../../shared/durable.js';
import { messageOf } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';

/** Permissions of a file that are not its owner's. */
const OTHERS = 0o077;

export interface Signer {
  /** Ed25519, raw: 32 bytes. */
  readonly publicKey: Uint8Array;
  /** Of the UTF-8 of the text: 64 bytes. */
  sign(text: string): Uint8Array;
}

/**
 * The signer of the key in the file, which is made where there is none: of several processes that start at once, one
 * makes it and all have the same. Throws an Error of one line where others may read the file, or it holds no such key.
 */
export async function openSigner(file: string): Promise<Signer> {
  const pem = (await readKey(file)) ?? (await makeKey(file));
  return signerOf(parse(pem, file));
}

/** Of an Ed25519 key. */
export function signerOf(privateKey: KeyObject): Signer {
  // Never fails for a key of this kind: x is the raw public key in base64url (RFC 8037, section 2).
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  return {
    publicKey: new Uint8Array(Buffer.from(x as string, 'base64url')),
    sign: (text) => sign(null, Buffer.from(text, 'utf8'), privateKey),
  };
}

/** The public key of the file's key, as hex. */
export const publicSigningKey = async (file: string): Promise<string> => toHex((await openSigner(file)).publicKey);

/** Undefined where there is no such file. */
async function readKey(file: string): Promise<string | undefined> {
  try {
    const { mode } = await stat(file);
    if ((mode & OTHERS) !== 0)
      throw new Error(
        `the signing key ${file} can be read or written by others; run chmod 600 on it, or make a new one`,
      );
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === undefined) throw error;
    throw new Error(`the signing key ${file} cannot be read (${code})`, { cause: error });
  }
}

/** Returns the key that is there then, whoever was first. */
async function makeKey(file: string): Promise<string> {
  await makeDirectory(dirname(file));
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  if (await createFile(file, pem, PRIVATE_MODE)) return pem;
  return (await readKey(file)) ?? makeKey(file);
}

function parse(pem: string, file: string): KeyObject {
  const refusal = (why: string): Error => new Error(`the signing key ${file} is no Ed25519 key in PKCS#8 PEM: ${why}`);
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (error) {
    throw refusal(messageOf(error));
  }
  if (key.asymmetricKeyType !== 'ed25519') throw refusal(`it is of type ${key.asymmetricKeyType}`);
  return key;
}
