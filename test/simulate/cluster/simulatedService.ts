/** A simulated service in either mode: its processes, their addresses, and what faults can act on. */
import type { VaultStore } from '../../../shared/vault/vaultStore.js';
import type { AccessHead } from '../../../verifier/index.js';
import type { CollectionLog } from '../../soak/checker/log.js';
import type { Call } from '../../soak/history.js';
import type { LogOf } from '../../soak/readLogs.js';
import type { ChurnClients } from '../churn/churnClients.js';
import type { Disks } from '../disk/simulatedFiles.js';
import type { HttpPorts } from '../http/engine.js';
import type { LogBefore, LogEnd } from '../judges/logsJudge.js';
import type { StatesJudge } from '../judges/statesJudge.js';
import type { Broker } from '../nats/broker.js';
import type { JetStream } from '../nats/jetStream.js';
import type { Network } from '../network/network.js';
import type { World } from '../world/world.js';
import type { SimulatedLogs } from './simulatedLogger.js';
import type { SimulatedProcess } from './simulatedProcess.js';
import type { SimulatedWitness } from './simulatedWitness.js';

export interface SimulatedNats {
  readonly broker: Broker;
  readonly jetStream: JetStream;
  readonly names: readonly string[];
  /** Addresses of the servers, separated by commas. */
  readonly url: string;
  /** The only loss of unsynced data, once it has happened. */
  readonly loss: Loss | undefined;
  start(name: string): void;
  stop(name: string): void;
  /**
   * Everything stored so far survives a power loss; from now on, also whatever is older than the servers' sync
   * interval.
   */
  sync(): void;
  /** Stops all servers at once; their machines lose power. */
  losePower(): void;
}

/** The state after servers have lost their unsynced data. */
export interface Loss {
  readonly atMs: number;
  /** Messages stored for longer than this, in milliseconds, must not be lost. */
  readonly syncedAgoMs: number;
  /** The logs just before the loss. */
  readonly before: readonly LogBefore[];
  readonly ends: readonly LogEnd[];
  /** Whether the service log has lost entries that a surviving checkpoint covers. */
  readonly isRolledBack: boolean;
}

export interface SimulatedService {
  readonly world: World;
  readonly network: Network;
  readonly disks: Disks;
  readonly ports: HttpPorts;
  readonly logs: SimulatedLogs;
  readonly processes: ReadonlyMap<string, SimulatedProcess>;
  /** Shards with data on their machines. */
  readonly shardNames: readonly string[];
  readonly coordinatorNames: readonly string[];
  /** Findings of the judges inside the world. */
  readonly findings: readonly string[];
  readonly states: StatesJudge;
  /** Undefined: the service log has no witness. */
  readonly witness: SimulatedWitness | undefined;
  /** Undefined: standalone. */
  readonly nats: SimulatedNats | undefined;
  /** Name → base address. */
  readonly coordinators: ReadonlyMap<string, string>;
  /** Clients that make and delete collections; undefined: none do. */
  churn: ChurnClients | undefined;
  /** Starts everything. Returns a key of each project. */
  start(projects: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Opens the vault for a tool on the machine of the first shard. */
  openVault(): Promise<{ readonly vault: VaultStore; close(): Promise<void> }>;
  readLogs(collections: readonly LogOf[], calls: readonly Call[]): Promise<CollectionLog[]>;
  /** Yields the frames of a collection's access log. */
  accessFrames(collectionId: number): AsyncIterable<Uint8Array>;
  /** Returns the states of a collection's access log that the service log names. */
  accessClaims(collectionId: number): readonly AccessHead[];
}

export const HTTP_PORT = 8080;

/** Ends every fault, and starts whatever does not run. */
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

/** Processes that ended although no fault had ended them. */
export const crashesOf = ({ processes }: SimulatedService): readonly string[] =>
  [...processes.values()].flatMap(({ crashes }) => crashes);
