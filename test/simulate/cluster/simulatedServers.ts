/** NATS servers of a simulated cluster: how to reach, start and stop them, and what they have lost. */
import type { ClusterJudge } from '../judges/clusterJudge.js';
import type { Broker } from '../nats/broker.js';
import type { JetStream } from '../nats/jetStream.js';
import type { World } from '../world/world.js';
import type { Loss, SimulatedNats } from './simulatedService.js';

const PORT = 4222;

/**
 * Default sync interval of nats-server, in milliseconds; it applies to servers that do not sync before they
 * acknowledge.
 */
export const SYNC_INTERVAL_MS = 120_000;

interface Parts {
  readonly broker: Broker;
  readonly jetStream: JetStream;
  readonly judge: ClusterJudge;
  /** Whether the servers sync before they acknowledge. */
  readonly isSynced: boolean;
}

export class SimulatedServers implements SimulatedNats {
  readonly broker: Broker;
  readonly jetStream: JetStream;
  readonly url: string;
  loss: Loss | undefined;

  constructor(
    private readonly world: World,
    readonly names: readonly string[],
    private readonly parts: Parts,
  ) {
    this.broker = parts.broker;
    this.jetStream = parts.jetStream;
    this.url = names.map(addressOf).join(',');
  }

  start(name: string): void {
    this.broker.start(name, addressOf(name));
    this.jetStream.reconsider();
  }

  stop(name: string): void {
    this.broker.stop(name);
    this.jetStream.reconsider();
  }

  sync(): void {
    this.jetStream.sync();
    if (this.parts.isSynced || this.loss !== undefined) return;
    this.world.at(this.world.root, SYNC_INTERVAL_MS, 'sync', () => this.sync());
  }

  losePower(): void {
    for (const name of this.names) this.stop(name);
    const { judge, isSynced } = this.parts;
    const before = judge.before();
    this.jetStream.losePower(isSynced);
    if (isSynced) return;
    judge.lost();
    const { isRolledBack } = judge;
    this.loss = { atMs: this.world.nowMs, syncedAgoMs: SYNC_INTERVAL_MS, before, ends: judge.ends(), isRolledBack };
  }
}

const addressOf = (name: string): string => `10.0.1.${name.slice(1)}:${PORT}`;
