/** A nats-server with the users and permissions of a cluster, and connections in each of its roles. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, Events, type NatsConnection } from 'nats';
import { findNatsServer } from '../../../scripts/local/natsServer/find.js';
import { planServers, READY_TEXT } from '../../../scripts/local/natsServer/serverPlan.js';
import { seedFile } from '../../../scripts/local/natsServer/users.js';
import { loginOptions, NO_LOGIN } from '../../../shared/nats/natsLogin.js';
import { inboxPrefixOf, type NatsRole } from '../../../shared/nats/roles.js';
import type { ClusterOptions, ClusterPlatform } from '../../../shared/platform/natsPlatform.js';
import { freePort } from '../launch/freePort.js';
import { type Launched, launch } from '../launch/process.js';
import { ClusterPlatforms } from './clusterPlatforms.js';

export class RoleServer {
  readonly #platforms = new ClusterPlatforms();
  readonly #connections: NatsConnection[] = [];

  private constructor(
    readonly url: string,
    private readonly folder: string,
    private readonly server: Launched,
  ) {}

  static async start(): Promise<RoleServer> {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-roles-'));
    const ports = { client: await freePort(), route: 0, monitor: undefined };
    const [plan] = await planServers(await findNatsServer(), folder, [ports]);
    const server = launch(plan!.program, plan!.args);
    await server.waitForLine(new RegExp(READY_TEXT));
    return new RoleServer(plan!.url, folder, server);
  }

  /** Opens a platform like a process of Vouch in this role. */
  open(role: NatsRole, options: Partial<ClusterOptions> = {}): Promise<ClusterPlatform> {
    return this.#platforms.open(this.url, { role, nkey: seedFile(this.folder, role), ...options });
  }

  /**
   * A plain connection in the role. `refused` returns the subjects that the server has refused to it since the last
   * call.
   */
  async raw(role: NatsRole): Promise<{ nc: NatsConnection; refused: () => Promise<string[]> }> {
    const login = await loginOptions({ ...NO_LOGIN, nkey: seedFile(this.folder, role) });
    const nc = await connect({ servers: this.url, inboxPrefix: inboxPrefixOf(role), reconnect: false, ...login });
    this.#connections.push(nc);
    const errors: string[] = [];
    void (async () => {
      for await (const { type, permissionContext } of nc.status())
        if (type === Events.Error && permissionContext) errors.push(permissionContext.subject);
    })();
    const refused = async (): Promise<string[]> => {
      await nc.flush();
      await nc.flush();
      return errors.splice(0).sort();
    };
    return { nc, refused };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.#platforms.close();
    await this.server.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
