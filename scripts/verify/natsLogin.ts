/** The login of `verify stream` at the NATS servers, from the variables of the service. */
import { readFileSync } from 'node:fs';
import { type ConnectionOptions, credsAuthenticator, nkeyAuthenticator } from 'nats';
import { commandText } from '../terminal/commandLine.js';

/** Path of the seed of the read-only user, in the data folder of servers that this machine runs. */
const OWN_SEED = 'nats/users/operator/seed.nk';
const REFUSAL = /authori[sz]ation|authentication/i;

/** Adds to the error of a refused login which variable names the file of a login. Returns any other error unchanged. */
export function withLoginAdvice(error: Error, env: NodeJS.ProcessEnv): Error {
  if (env.VOUCH_NATS_NKEY || env.VOUCH_NATS_CREDS || !REFUSAL.test(error.message)) return error;
  const file = `${env.VOUCH_DATA_DIR || 'data'}/${OWN_SEED}`;
  const advice = `set VOUCH_NATS_NKEY to its file; for servers of ${commandText('start')} that is ${file}`;
  return new Error(`${error.message}; the servers require a login: ${advice}`);
}

/** Throws an Error of one line where a file cannot be read. */
export function loginFrom(env: NodeJS.ProcessEnv): Pick<ConnectionOptions, 'authenticator' | 'tls'> {
  const { VOUCH_NATS_NKEY: nkey, VOUCH_NATS_CREDS: creds } = env;
  const { VOUCH_NATS_CA: caFile, VOUCH_NATS_CERT: certFile, VOUCH_NATS_KEY: keyFile } = env;
  const read = (variable: string, file: string): Buffer => {
    try {
      return readFileSync(file);
    } catch (error) {
      throw new Error(`${variable} is ${file}, which cannot be read: ${(error as Error).message}`);
    }
  };
  return {
    ...(creds && { authenticator: credsAuthenticator(read('VOUCH_NATS_CREDS', creds)) }),
    ...(nkey && { authenticator: nkeyAuthenticator(Buffer.from(read('VOUCH_NATS_NKEY', nkey).toString().trim())) }),
    ...((caFile || certFile) && { tls: { ...(caFile && { caFile }), ...(certFile && { certFile, keyFile }) } }),
  } as Pick<ConnectionOptions, 'authenticator' | 'tls'>;
}
