/**
 * An Ed25519 signing key of a node or of the service log, in a file that only its owner may read. The first process that needs
 * the key makes it.
 *
 *   Vouch signing key <the public key, 64 hex digits>
 *   -----BEGIN PRIVATE KEY-----               PKCS#8, PEM
 *
 * Any 32 bytes are a key. So damage would go unnoticed without the first line, which readers of PEM ignore (RFC 7468, section 2).
 * A PEM file from elsewhere without that line is accepted.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../errors/errors.js';
import { codeOf, createFile, makeDirectory, OTHERS_MODE } from '../files/durable.js';
import { toHex } from '../hashing/hash.js';

const PEM_BEGIN = '-----BEGIN';

export interface Signer {
  /** Ed25519, raw: 32 bytes. */
  readonly publicKey: Uint8Array;
  /** Signs the UTF-8 of the text: 64 bytes. */
  sign(text: string): Uint8Array;
}

/**
 * Returns the signer of the key in the file, and makes a missing file; processes that start together get one key. Throws an Error
 * of one line if others may read the file, or if it has no such key. Throws it also if the first line names another key.
 */
export async function openSigner(file: string): Promise<Signer> {
  const content = (await readKey(file)) ?? (await makeKey(file));
  return signerOf(parse(content, file));
}

/** The signer of an Ed25519 key. */
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

/** The content of the key file; undefined if it does not exist. */
async function readKey(file: string): Promise<string | undefined> {
  try {
    const { mode } = await stat(file);
    if ((mode & OTHERS_MODE) !== 0)
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

/** Returns the key that is in the file afterwards; another process may have made it first. */
async function makeKey(file: string): Promise<string> {
  await makeDirectory(dirname(file));
  const content = contentOf(generateKeyPairSync('ed25519').privateKey);
  if (await createFile(file, content)) return content;
  return (await readKey(file)) ?? makeKey(file);
}

const contentOf = (key: KeyObject): string =>
  `Vouch signing key ${toHex(signerOf(key).publicKey)}\n${key.export({ type: 'pkcs8', format: 'pem' })}`;

function parse(content: string, file: string): KeyObject {
  const refusal = (why: string): Error =>
    new Error(`the signing key ${file} is not an Ed25519 key in PKCS#8 PEM: ${why}`);
  let key: KeyObject;
  try {
    key = createPrivateKey(content);
  } catch (error) {
    throw refusal(messageOf(error));
  }
  if (key.asymmetricKeyType !== 'ed25519') throw refusal(`it is of type ${key.asymmetricKeyType}`);
  if (!content.startsWith(PEM_BEGIN) && content.trimEnd() !== contentOf(key).trimEnd())
    throw new Error(`the signing key ${file} is damaged: it is not what its first line says; put it back from a copy`);
  return key;
}
