/** The login of `verify stream` at the NATS servers: the variables are those of the service. */
import { readFileSync } from 'node:fs';
import { type ConnectionOptions, credsAuthenticator, nkeyAuthenticator } from 'nats';

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
