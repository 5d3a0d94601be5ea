/** The login of a process at the NATS servers, and the certificates by which it checks them. */
import { readFile } from 'node:fs/promises';
import { type Authenticator, credsAuthenticator, nkeyAuthenticator, type TlsOptions } from 'nats';
import { messageOf } from '../errors/errors.js';
import './nkeys.js';

/** Paths of files; an empty path is unused. */
export interface NatsLogin {
  /** A user's JWT and seed, in the format of `nsc`. */
  readonly creds: string;
  /** The seed of an nkey. */
  readonly nkey: string;
  /** The certificates of the authorities that sign the servers' certificates. */
  readonly ca: string;
  /** The client's own certificate and its key: both or neither. */
  readonly cert: string;
  readonly key: string;
}

export const NO_LOGIN: NatsLogin = { creds: '', nkey: '', ca: '', cert: '', key: '' };

/** Options of nats.js. */
export interface LoginOptions {
  readonly authenticator?: Authenticator;
  readonly tls?: TlsOptions;
}

/**
 * Returns the options of nats.js. nats.js reads the TLS files at every connection, so renewed certificates need no restart. Throws
 * an Error of one line if a file cannot be used. The line names the setting of that file.
 */
export async function loginOptions({ creds, nkey, ca, cert, key }: NatsLogin): Promise<LoginOptions> {
  const [credsBytes, seed] = [await bytesOf('VOUCH_NATS_CREDS', creds), await bytesOf('VOUCH_NATS_NKEY', nkey)];
  // Read these files only to refuse those that cannot be read. The client of NATS reads them again.
  await Promise.all([bytesOf('VOUCH_NATS_CA', ca), bytesOf('VOUCH_NATS_CERT', cert), bytesOf('VOUCH_NATS_KEY', key)]);
  const tls = { ...(ca && { caFile: ca }), ...(cert && { certFile: cert, keyFile: key }) };
  return {
    ...(credsBytes && { authenticator: credsAuthenticator(credsBytes) }),
    ...(seed && { authenticator: seedAuthenticator(nkey, seed) }),
    ...(ca || cert ? { tls } : {}),
  };
}

async function bytesOf(variable: string, file: string): Promise<Uint8Array | undefined> {
  if (file === '') return undefined;
  try {
    return await readFile(file);
  } catch (error) {
    throw new Error(`${variable} is ${file}, which cannot be read: ${messageOf(error)}`);
  }
}

function seedAuthenticator(file: string, bytes: Uint8Array): Authenticator {
  const seed = /^SU[A-Z2-7]{56}$/m.exec(Buffer.from(bytes).toString('latin1'))?.[0];
  if (seed === undefined) throw new Error(`VOUCH_NATS_NKEY is ${file}, which holds no seed of a user (SU…)`);
  return nkeyAuthenticator(Buffer.from(seed));
}
