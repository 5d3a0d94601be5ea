/** The login of `verify stream` at the NATS servers, from the variables of the service. */
import { readFileSync } from 'node:fs';
import { type ConnectionOptions, credsAuthenticator, nkeyAuthenticator } from 'nats';
import { commandText } from '../terminal/commandLine.js';

/** The seed of the user who may look, in the folder of the servers that this machine runs. */
const OWN_SEED = 'nats/users/operator/seed.nk';
const REFUSAL = /authori[sz]ation|authentication/i;

/** Adds the file of a login to the error of servers that require one. Returns any other error unchanged. */
export function withLoginAdvice(error: Error, env: NodeJS.ProcessEnv): Error {
  if (env.VOUCH_NATS_NKEY || env.VOUCH_NATS_CREDS || !REFUSAL.test(error.message)) return error;
  const file = `${env.VOUCH_DATA_DIR || 'data'}/${OWN_SEED}`;
  const where = `VOUCH_NATS_NKEY names the file of one, which is ${file} for the servers of ${commandText('start')}`;
  return new Error(`${error.message}; the servers ask for a login: ${where}`);
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
