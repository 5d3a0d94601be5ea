/** A backend without a cluster: enough of a collection to test the calls and answers of the HTTP edge. */

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
import type { Scale } from '../../../shared/fixedPoint.js';
import { silentLogger } from '../../../shared/logger.js';
import type { MetricText } from '../../../shared/metrics/metricsText.js';
import { BRUTE, type IndexSpec, type IndexState } from '../../../shared/model/indexSpec.js';
import { type HeldBytes, NOTHING_HELD } from '../../../shared/model/quotas.js';
import type { AuditedState } from '../../../shared/model/readAudit.js';
import type { RecordName } from '../../../shared/model/recordName.js';
import type { Call, ResultOf, Results } from '../../../shared/protocol/calls.js';
import type { InsertBatchCall, InsertCall } from '../../../shared/protocol/writes.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import { ShredNotes } from '../../../shared/vault/shredNotes.js';
import { keyEntriesOf } from './keyEntries.js';
import { MemoryVault } from './memoryVault.js';

interface Kept {
  readonly vector: Uint8Array;
  readonly tag: number;
  metadata: Uint8Array | null;
}

interface FakeCollection {
  readonly collection: Collection;
  readonly records: Map<number, Kept>;
  sequence: number;
  state: IndexState;
  /** Token of the hold on its writes. */
  holder: string | undefined;
}

const NO_INDEX: IndexState = {
  activeKind: 'none',
  status: 'none',
  desiredKind: 'brute',
  activeGeneration: null,
  segments: null,
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
  readonly notes = new ShredNotes(new MemoryBucket({ logger: silentLogger }), systemClock);
  readonly #counters = new MemoryBucket({ logger: silentLogger });
  /** Number of requests for health and metrics, and the work that each waits for. */
  readonly asked = { health: 0, metrics: 0 };
  beforeAsked: () => Promise<void> | void = () => {};
  /** Runs before each call is answered; if it throws, so does the call. */
  beforeCall: (collection: Collection, call: Call) => Promise<void> | void = () => {};
  /** Overrides the fake's answer. The fake has no graph and no search options. */
  answer: (collection: Collection, call: Call) => Results[Call['op']] | undefined = () => undefined;
  /** Every call, in order. */
  readonly calls: Call[] = [];
  readonly #collections = new Map<string, FakeCollection>();
  #nextId = 1;

  async find(project: string, name: string): Promise<Collection> {
    return this.#find(project, name).collection;
  }

  scaleFor(): Scale {
    return 'plain';
  }

  async create(
    project: string,
    { name, dimension, index }: WantedCollection,
  ): Promise<{ collection: Collection; created: boolean }> {
    const existing = this.#collections.get(`${project}.${name}`);
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
    this.#collections.set(`${project}.${name}`, {
      collection,
      records: new Map(),
      sequence: 0,
      state,
      holder: undefined,
    });
    return { collection, created: true };
  }

  /** The state that each call reports as audited. */
  audited: AuditedState | undefined;

  hasAudited(): boolean {
    return false;
  }

  async changeAccess(): Promise<never> {
    throw new Error('the fake has no access logs');
  }

  async aliases(): Promise<never> {
    throw new Error('the fake has no aliases');
  }

  async putAlias(): Promise<never> {
    throw new Error('the fake has no aliases');
  }

  async removeAlias(): Promise<never> {
    throw new Error('the fake has no aliases');
  }

  async beginImport(): Promise<never> {
    throw new Error('the fake imports nothing');
  }

  /** Imports an empty log. */
  async findImport(project: string, name: string): Promise<ImportedCollection> {
    const imported = { sequence: 0, chainHead: '', stateHash: '', finished: false };
    return { ...this.#find(project, name).collection, imported };
  }

  async finishImport(): Promise<void> {}

  async heldBytes(): Promise<HeldBytes> {
    return NOTHING_HELD;
  }

  async listed(project: string, name: string): Promise<CountedCollection> {
    const { id } = this.#find(project, name).collection;
    return (await this.list(project)).find((one) => one.id === id)!;
  }

  async list(project: string): Promise<CountedCollection[]> {
    return [...this.#collections.values()]
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
    this.#collections.delete(`${project}.${name}`);
  }

  /** Sets the index state of the collection. */
  setState(project: string, name: string, state: Partial<IndexState>): void {
    const fake = this.#find(project, name);
    fake.state = { ...fake.state, ...state };
  }

  /** Token of the hold on each collection, by name. */
  holders(): Record<string, string | undefined> {
    return Object.fromEntries(
      [...this.#collections.values()].map(({ collection, holder }) => [collection.name, holder]),
    );
  }

  async call<C extends Call>(collection: Collection, call: C, envelope?: Envelope): Promise<ResultOf<C>> {
    this.calls.push(call);
    if (this.audited !== undefined && call.op !== 'logAccess') envelope?.onAudited?.(this.audited);
    await this.beforeCall(collection, call);
    if (call.op === 'logAccess') return null as ResultOf<C>;
    const fake = this.#find(collection.project, collection.name);
    return (this.answer(collection, call) ?? this.#answer(fake, call)) as ResultOf<C>;
  }

  async findById(collectionId: number): Promise<Collection | undefined> {
    return [...this.#collections.values()].find(({ collection }) => collection.id === collectionId)?.collection;
  }

  async shredNotes(): Promise<ShredNotes> {
    return this.notes;
  }

  countUnknownKey(project: string): Promise<void> {
    return countUnknownKey(this.#counters, 10, project);
  }

  async health(): Promise<Health> {
    this.asked.health += 1;
    await this.beforeAsked();
    const { problem, impairment } = this;
    return { shards: 1, collections: this.#collections.size, records: 0, problem, impairment, damages: [] };
  }

  async shardMetrics(): Promise<MetricText[][]> {
    this.asked.metrics += 1;
    await this.beforeAsked();
    const name = 'vouch_records';
    return [[{ name, text: `# HELP ${name} -\n# TYPE ${name} gauge\n${name}{shard="s1"} 7` }]];
  }

  #find(project: string, name: string): FakeCollection {
    const fake = this.#collections.get(`${project}.${name}`);
    if (fake === undefined) throw new VouchError('collection_not_found', `there is no collection named "${name}"`);
    return fake;
  }

  #answer(fake: FakeCollection, call: Call): Results[Call['op']] {
    switch (call.op) {
      case 'insert':
        return insert(fake, call);
      case 'insertBatch':
        return { ids: bytesOf(insertBatch(fake, call)), created: call.count };
      case 'get':
        return { id: idIn(call.id), externalId: null, expiresAtMs: null, ...recordOf(fake, idIn(call.id)) };
      case 'search':
        return search(fake, call.query!, call.k);
      case 'softDelete':
      case 'delete':
        recordOf(fake, idIn(call.id));
        fake.records.delete(idIn(call.id));
        return { sequence: ++fake.sequence };
      case 'updateMetadata':
        recordOf(fake, idIn(call.id)).metadata = call.metadata;
        return { id: idIn(call.id), sequence: ++fake.sequence };
      case 'indexState':
        return fake.state;
      case 'configureIndex':
        fake.state = stateOf(call.spec);
        return fake.state;
      case 'hold':
        if (fake.holder !== undefined && fake.holder !== call.token)
          throw new VouchError('conflict', 'its writes are on hold');
        fake.holder = call.token;
        return null;
      case 'release':
        if (fake.holder === call.token) fake.holder = undefined;
        return null;
      case 'rebuild':
        return { records: fake.records.size };
      case 'describe':
        return { records: fake.records.size, sequence: fake.sequence, logBytes: 0 };
      default:
        throw new Error(`the fake does not answer ${call.op}`);
    }
  }
}

/** A build that has just begun and never ends. */
function stateOf({ kind }: IndexSpec): IndexState {
  if (kind === BRUTE.kind) return NO_INDEX;
  const building = {
    status: 'building',
    buildingGeneration: 1,
    buildStartedAtMs: 1_800_000_000_999,
    buildProgress: 0.25,
    baseSequence: 3,
  } as const;
  return { ...NO_INDEX, ...building, desiredKind: kind };
}

/** The fake has no external ids. */
function idIn(name: RecordName): number {
  if (typeof name === 'number') return name;
  throw new RangeError('the fake finds records by ids alone');
}

function insert(fake: FakeCollection, { vector, tag, metadata }: InsertCall): Results['insert'] {
  const id = ++fake.sequence;
  fake.records.set(id, { vector, tag, metadata });
  const hashes = { old_root: '', new_root: '', proof: '', state_hash: '' };
  const receipt = JSON.stringify({ ...hashes, record_id: id, sequence: id, timestamp: 0 });
  return { id, deduplicated: false, receipt };
}

function insertBatch(fake: FakeCollection, { count, vectors, metadata }: InsertBatchCall): number[] {
  const sizeBytes = vectors.length / count;
  return Array.from({ length: count }, (_, i) => {
    const vector = vectors.slice(i * sizeBytes, (i + 1) * sizeBytes);
    return insert(fake, {
      op: 'insert',
      vector,
      tag: 0,
      requestId: null,
      metadata: metadata?.[i] ?? null,
      text: null,
    }).id;
  });
}

function recordOf({ records }: FakeCollection, id: number): Kept {
  const record = records.get(id);
  if (record === undefined) throw new VouchError('record_not_found', `there is no record ${id}`);
  return record;
}

function search({ records }: FakeCollection, query: Uint8Array, k: number): Results['search'] {
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
