/** Reasons why a reachable server and a client do not work together. A retry would not help. */
import { ErrorCode, NatsError } from 'nats';
import { messageOf, VouchError } from '../errors/errors.js';
import { codeOf } from '../files/durable.js';
import { askServerInfo } from './serverInfo.js';

/** Error of a server that refuses the client, or of a client that refuses the server. */
export class LoginRefused extends VouchError {
  constructor(message: string, cause: unknown) {
    super('unavailable', message, { cause });
  }
}

const ASK_MS = 1_000;
const DEFAULT_PORT = 4222;
/** Codes of Node for certificates that do not verify. */
const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/;
const OTHER_ADDRESS = 'ERR_TLS_CERT_ALTNAME_INVALID';

/** Returns the rest of a sentence that begins "the NATS server …", with advice; undefined for any other failure. */
export async function whyRefused(
  error: unknown,
  servers: readonly string[],
  { hasLogin, hasCertificate }: { hasLogin: boolean; hasCertificate: boolean },
): Promise<string | undefined> {
  const code = codeOf(error) ?? '';
  if (error instanceof NatsError && (error.isAuthError() || code === ErrorCode.BadAuthentication))
    return hasLogin
      ? 'refuses the login: set the file, or the name and password, of a user that it knows'
      : 'asks for a login: set VOUCH_NATS_NKEY, VOUCH_NATS_CREDS, or a user in VOUCH_NATS_URL';
  if (code === ErrorCode.ServerOptionNotAvailable)
    return 'does not offer TLS: configure it there, or leave out VOUCH_NATS_CA, VOUCH_NATS_CERT and tls://';
  if (code === ErrorCode.Tls)
    return `cannot be asked with VOUCH_NATS_CERT and VOUCH_NATS_KEY (${detailOf(error)}): set a certificate and its own key`;
  if (code === OTHER_ADDRESS)
    return `has a certificate for other addresses (${messageOf(error)}): set one of them in VOUCH_NATS_URL`;
  if (UNTRUSTED.test(code))
    return `has a certificate that does not verify (${messageOf(error)}): set VOUCH_NATS_CA to the authority that signed it`;
  // A server that refuses a client's certificate only closes the connection.
  if (code === ErrorCode.Timeout && (await asksForCertificate(servers)))
    return hasCertificate
      ? 'does not trust the certificate in VOUCH_NATS_CERT: set one that its authority signed'
      : "asks for a client's certificate: set VOUCH_NATS_CERT and VOUCH_NATS_KEY";
  return undefined;
}

/** OpenSSL's line, which nats.js keeps as the cause. */
const detailOf = (error: unknown): string => messageOf((error as { chainedError?: unknown }).chainedError ?? error);

async function asksForCertificate(servers: readonly string[]): Promise<boolean> {
  for (const server of servers) {
    const { hostname, port } = new URL(`nats://${server}`);
    const info = await askServerInfo(hostname.replace(/^\[|\]$/g, ''), Number(port || DEFAULT_PORT), ASK_MS);
    if (info !== undefined) return info.tls_verify === true;
  }
  return false;
}
