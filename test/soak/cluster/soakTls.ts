/** TLS between the processes of a soak and its NATS servers, with renewable certificates made by openssl. */
import { appendFile } from 'node:fs/promises';
import type { ServerPlan } from '../../../scripts/local/natsServer/serverPlan.js';
import { makeDirectory } from '../../../shared/files/durable.js';
import type { NatsLogin } from '../../../shared/nats/natsLogin.js';
import { type Authority, authority, hasOpenSsl } from '../../support/certificates.js';

const SERVER = 'server';
const CLIENT = 'client';

export class SoakTls {
  private constructor(
    private readonly made: Authority,
    /** Certificate files of the processes. */
    readonly files: Pick<NatsLogin, 'ca' | 'cert' | 'key'>,
  ) {}

  /** Makes the servers, which do not run yet, require certificates; undefined without openssl. */
  static async over(servers: readonly ServerPlan[], folder: string): Promise<SoakTls | undefined> {
    if (!hasOpenSsl()) return undefined;
    await makeDirectory(folder);
    const made = authority(folder, 'IP:127.0.0.1,DNS:localhost');
    const { cert, key } = made.certificate(SERVER);
    const tls = `tls { cert_file: "${cert}", key_file: "${key}", ca_file: "${made.ca}", verify: true }\n`;
    for (const { args } of servers) await appendFile(args.at(-1)!, tls);
    return new SoakTls(made, { ca: made.ca, ...made.certificate(CLIENT) });
  }

  renew(): void {
    for (const name of [SERVER, CLIENT]) this.made.certificate(name);
  }
}
