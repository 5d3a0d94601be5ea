/** A backend without a cluster: enough of a collection to see what the HTTP edge asks and how it answers. */

import type {
  Collection,
  CountedCollection,
  ImportedCollection,
  WantedCollection,
} from '../../../coordinator/cluster/catalog/collection.js';
import type { Backend } from '../../../coordinator/cluster/clusterBackend.js';
import { countUnknownKey } from '../../../coordinator/cluster/deletion/unknownKeys.js';
import type { Health } from '../../../coordinator/cluster/reports/clusterHealth.js';
import type { ClusterState } from '../../../coordinator/cluster/reports/clusterView.js';
import { MemoryBucket } from '../../../shared/bucket/memory.js';
import { systemClock } from '../../../shared/clock.js';
import { VouchError } from '../../../shared/errors/errors.js';
import { silentLogger } from '../../../shared/logger.js';
import type { MetricText } from '../../../shared/metrics/metricsText.js';
import { EXACT, type IndexSpec, type IndexState } from '../../../shared/model/indexSpec.js';
import { type HeldBytes, NOTHING_HELD } from '../../../shared/model/quotas.js';
import type { Call, InsertBatchCall, InsertCall, ResultOf, Results } from '../../../shared/protocol/calls.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import { ShredMarks } from '../../../shared/vault/shredMarks.js';
import { keyEntriesOf } from './keyEntries.js';
import { MemoryVault } from './memoryVault.js';

interface Kept {
  readonly vector: Uint8Array;
  readonly tag: number;
  metadata: Uint8Array | null;
}

interface Held {
  readonly collection: Collection;
  readonly records: Map<number, Kept>;
  sequence: number;
  state: IndexState;
  /** Of whoever holds its writes. */
  holder: string | undefined;
}

const NO_INDEX: IndexState = {
  activeKind: 'none',
  status: 'none',
  desiredKind: 'brute',
  activeGeneration: null,
  buildingGeneration: null,
  buildStartedAtMs: null,
  buildProgress: null,
  baseSequence: null,
  error: null,
};

export class FakeBackend implements Backend {
  mode: 'cluster' | 'standalone' = 'cluster';
  maxCommitBytes = 16 * 1024 * 1024;
  problem: string | undefined;
  impairment: string | undefined;
  readonly keys = new MemoryVault();
  readonly keyEntries = keyEntriesOf(this.keys);
  readonly marks = new ShredMarks(new MemoryBucket({ logger: silentLogger }), systemClock);
  readonly #counters = new MemoryBucket({ logger: silentLogger });
  /** Askings for the health and for the metrics, of each kind, and what they wait for. */
  readonly asked = { health: 0, metrics: 0 };
  beforeAsked: () => Promise<void> | void = () => {};
  /** Runs before each call is answered; what it throws is the call's outcome. */
  beforeCall: (collection: Collection, call: Call) => Promise<void> | void = () => {};
  /** A test's own answer, in place of the fake's. Of the graph and of a search's options the fake has none. */
  answer: (collection: Collection, call: Call) => Results[Call['op']] | undefined = () => undefined;
  /** Every call there was, in order. */
  readonly calls: Call[] = [];
  readonly #held = new Map<string, Held>();
  #nextId = 1;

  async find(project: string, name: string): Promise<Collection> {
    return this.#find(project, name).collection;
  }

  async create(
    project: string,
    { name, dimension, index }: WantedCollection,
  ): Promise<{ collection: Collection; created: boolean }> {
    const existing = this.#held.get(`${project}.${name}`);
    if (existing !== undefined) {
      if (existing.collection.dimension !== dimension) throw new VouchError('conflict', 'another dimension');
      return { collection: existing.collection, created: false };
    }
    const fixed = { metric: 'squared_l2', createdAtMs: 0 } as const;
    const collection: Collection = {
      ...fixed,
      id: this.#nextId++,
      project,
      name,
      dimension,
      index,
      indexParameters: {},
    };
    const state = stateOf({ kind: index, parameters: {} });
    this.#held.set(`${project}.${name}`, { collection, records: new Map(), sequence: 0, state, holder: undefined });
    return { collection, created: true };
  }

  async beginImport(): Promise<never> {
    throw new Error('the fake imports nothing');
  }

  /** Of an empty log. */
  async findImport(project: string, name: string): Promise<ImportedCollection> {
    const imported = { sequence: 0, chainHead: '', stateHash: '', finished: false };
    return { ...this.#find(project, name).collection, imported };
  }

  async finishImport(): Promise<void> {}

  async heldBytes(): Promise<HeldBytes> {
    return NOTHING_HELD;
  }

  async list(project: string): Promise<CountedCollection[]> {
    return [...this.#held.values()]
      .filter(({ collection }) => collection.project === project)
      .map(({ collection, records, sequence, state }) => ({
        ...collection,
        records: records.size,
        sequence,
        logBytes: 100 * sequence,
        snapshotBytes: 10 * sequence,
        serving: state.activeKind === 'none' ? 'brute' : state.activeKind,
      }));
  }

  async cluster(): Promise<ClusterState> {
    return { shards: [], collections: [], leases: [], coordinators: [], nats: [] };
  }

  async remove(project: string, name: string): Promise<void> {
    this.#find(project, name);
    this.#held.delete(`${project}.${name}`);
  }

  /** What the collection says of its index from now on. */
  setState(project: string, name: string, state: Partial<IndexState>): void {
    const held = this.#find(project, name);
    held.state = { ...held.state, ...state };
  }

  /** Who holds the writes of each collection, by name. */
  holders(): Record<string, string | undefined> {
    return Object.fromEntries([...this.#held.values()].map(({ collection, holder }) => [collection.name, holder]));
  }

  async call<C extends Call>(collection: Collection, call: C, _envelope?: Envelope): Promise<ResultOf<C>> {
    this.calls.push(call);
    await this.beforeCall(collection, call);
    const held = this.#find(collection.project, collection.name);
    return (this.answer(collection, call) ?? this.#answer(held, call)) as ResultOf<C>;
  }

  async findById(collectionId: number): Promise<Collection | undefined> {
    return [...this.#held.values()].find(({ collection }) => collection.id === collectionId)?.collection;
  }

  async shredMarks(): Promise<ShredMarks> {
    return this.marks;
  }

  countUnknownKey(project: string): Promise<void> {
    return countUnknownKey(this.#counters, 10, project);
  }

  async health(): Promise<Health> {
    this.asked.health += 1;
    await this.beforeAsked();
    const { problem, impairment } = this;
    return { shards: 1, collections: this.#held.size, records: 0, problem, impairment, damages: [] };
  }

  async shardMetrics(): Promise<MetricText[][]> {
    this.asked.metrics += 1;
    await this.beforeAsked();
    const name = 'vouch_records';
    return [[{ name, text: `# HELP ${name} -\n# TYPE ${name} gauge\n${name}{shard="s1"} 7` }]];
  }

  #find(project: string, name: string): Held {
    const held = this.#held.get(`${project}.${name}`);
    if (held === undefined) throw new VouchError('collection_not_found', `there is no collection named "${name}"`);
    return held;
  }

  #answer(held: Held, call: Call): Results[Call['op']] {
    switch (call.op) {
      case 'insert':
        return insert(held, call);
      case 'insertBatch':
        return { ids: bytesOf(insertBatch(held, call)), created: call.count };
      case 'get':
        return { id: call.id, externalId: null, ...recordOf(held, call.id) };
      case 'search':
        return search(held, call.query!, call.k);
      case 'softDelete':
      case 'delete':
        recordOf(held, call.id);
        held.records.delete(call.id);
        return { sequence: ++held.sequence };
      case 'updateMetadata':
        recordOf(held, call.id).metadata = call.metadata;
        return { sequence: ++held.sequence };
      case 'indexState':
        return held.state;
      case 'configureIndex':
        held.state = stateOf(call.spec);
        return held.state;
      case 'hold':
        if (held.holder !== undefined && held.holder !== call.token) throw new VouchError('conflict', 'it is held');
        held.holder = call.token;
        return null;
      case 'release':
        if (held.holder === call.token) held.holder = undefined;
        return null;
      case 'rebuild':
        return { records: held.records.size };
      case 'describe':
        return { records: held.records.size, sequence: held.sequence, logBytes: 0 };
      default:
        throw new Error(`the fake has no answer to ${call.op}`);
    }
  }
}

/** A build that has just begun, and never ends. */
function stateOf({ kind }: IndexSpec): IndexState {
  if (kind === EXACT.kind) return NO_INDEX;
  const building = {
    status: 'building',
    buildingGeneration: 1,
    buildStartedAtMs: 1_800_000_000_999,
    buildProgress: 0.25,
    baseSequence: 3,
  } as const;
  return { ...NO_INDEX, ...building, desiredKind: kind };
}

function insert(held: Held, { vector, tag, metadata }: InsertCall): Results['insert'] {
  const id = ++held.sequence;
  held.records.set(id, { vector, tag, metadata });
  const hashes = { old_root: '', new_root: '', proof: '', state_hash: '' };
  return { id, deduplicated: false, receipt: { ...hashes, record_id: id, sequence: id, timestamp: 0 } };
}

function insertBatch(held: Held, { count, vectors, metadata }: InsertBatchCall): number[] {
  const sizeBytes = vectors.length / count;
  return Array.from({ length: count }, (_, i) => {
    const vector = vectors.slice(i * sizeBytes, (i + 1) * sizeBytes);
    return insert(held, {
      op: 'insert',
      vector,
      tag: 0,
      requestId: null,
      metadata: metadata?.[i] ?? null,
      text: null,
    }).id;
  });
}

function recordOf({ records }: Held, id: number): Kept {
  const record = records.get(id);
  if (record === undefined) throw new VouchError('record_not_found', `there is no record ${id}`);
  return record;
}

function search({ records }: Held, query: Uint8Array, k: number): Results['search'] {
  const wanted = componentsOf(query);
  const ranked = [...records]
    .map(([id, { vector }]) => ({ id, score: distance(wanted, componentsOf(vector)) }))
    .sort((a, b) => a.score - b.score || a.id - b.id)
    .slice(0, k);
  return { ids: bytesOf(ranked.map(({ id }) => id)), scores: bytesOf(ranked.map(({ score }) => score)) };
}

export const componentsOf = (vector: Uint8Array): number[] => [
  ...new Int32Array(vector.buffer.slice(vector.byteOffset, vector.byteOffset + vector.length)),
];
const distance = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + ((value - b[i]!) / 65_536) ** 2, 0);
const bytesOf = (numbers: readonly number[]): Uint8Array => new Uint8Array(Float64Array.from(numbers).buffer);
