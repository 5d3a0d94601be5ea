/** A simulated service, in whatever mode: what runs, where it may be reached, and what may go wrong with it. */
import type { VaultStore } from '../../../shared/vault/vaultStore.js';
import type { CollectionLog } from '../../soak/checker/log.js';
import type { Call } from '../../soak/history.js';
import type { LogOf } from '../../soak/readLogs.js';
import type { Disks } from '../disk/simulatedFiles.js';
import type { HttpPorts } from '../http/engine.js';
import type { LogBefore, LogEnd } from '../judges/logsJudge.js';
import type { StatesJudge } from '../judges/statesJudge.js';
import type { Broker } from '../nats/broker.js';
import type { JetStream } from '../nats/jetStream.js';
import type { Network } from '../network/network.js';
import type { PassingClients } from '../passing/passingClients.js';
import type { World } from '../world/world.js';
import type { SimulatedLogs } from './simulatedLogger.js';
import type { SimulatedProcess } from './simulatedProcess.js';
import type { SimulatedWitness } from './simulatedWitness.js';

export interface SimulatedNats {
  readonly broker: Broker;
  readonly jetStream: JetStream;
  readonly names: readonly string[];
  /** Of the servers, separated by commas. */
  readonly url: string;
  /** After the only loss of what was not synced. */
  readonly loss: Loss | undefined;
  start(name: string): void;
  stop(name: string): void;
  /** What is stored by now survives a loss of power, and from now on whatever is older than the servers' interval. */
  sync(): void;
  /** All servers stop at once, and their machines lose their power. */
  losePower(): void;
}

/** What is left when servers have lost what they had not synced. */
export interface Loss {
  readonly atMs: number;
  /** What was stored for longer may not be lost, in milliseconds. */
  readonly syncedAgoMs: number;
  /** The logs just before. */
  readonly before: readonly LogBefore[];
  readonly ends: readonly LogEnd[];
  /** The service log has lost entries of which a checkpoint is left. */
  readonly isRolledBack: boolean;
}

export interface SimulatedService {
  readonly world: World;
  readonly network: Network;
  readonly disks: Disks;
  readonly ports: HttpPorts;
  readonly logs: SimulatedLogs;
  readonly processes: ReadonlyMap<string, SimulatedProcess>;
  /** Those with data on their machines. */
  readonly shardNames: readonly string[];
  readonly coordinatorNames: readonly string[];
  /** What the judges inside have found. */
  readonly findings: readonly string[];
  readonly states: StatesJudge;
  /** Undefined: nobody cosigns the service log. */
  readonly witness: SimulatedWitness | undefined;
  /** Undefined: standalone. */
  readonly nats: SimulatedNats | undefined;
  /** Name → base address. */
  readonly coordinators: ReadonlyMap<string, string>;
  /** Who makes and deletes collections; undefined: nobody does. */
  passing: PassingClients | undefined;
  /** Starts everything. Returns a key of each project. */
  start(projects: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** For a tool on the machine of the first shard. */
  openVault(): Promise<{ readonly vault: VaultStore; close(): Promise<void> }>;
  readLogs(collections: readonly LogOf[], calls: readonly Call[]): Promise<CollectionLog[]>;
}

export const HTTP_PORT = 8080;

/** Everything that went wrong is put right, and whatever does not run is started. */
export function heal({ nats, network, disks, processes, shardNames }: SimulatedService): void {
  if (nats !== undefined) {
    nats.broker.lostOneIn = 0;
    nats.broker.doubledOneIn = 0;
    nats.jetStream.lostAckOneIn = 0;
    nats.jetStream.slowMs = 0;
    nats.jetStream.interruptions.clear();
    for (const name of nats.names) if (!nats.broker.isUp(name)) nats.start(name);
  }
  network.heal();
  for (const name of shardNames) {
    const disk = disks.of(name);
    disk.isFull = false;
    disk.fail = () => undefined;
  }
  for (const process of processes.values()) process.wake();
}

/** Processes that ended though nobody had ended them. */
export const crashesOf = ({ processes }: SimulatedService): readonly string[] =>
  [...processes.values()].flatMap(({ crashes }) => crashes);
