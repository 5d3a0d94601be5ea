/**
 * What the HTTP edge needs of everything behind it. One implementation (`cluster/`) serves both modes; the edge sees
 * no shard, no bucket and no log.
 */
import type { Call, CollectionConfig, CollectionOrigin, ResultOf } from '../shared/calls.js';
import type { ImportEnd, ImportState } from '../shared/catalogEntry.js';
import type { Damage } from '../shared/damage.js';
import type { DesiredKind, IndexKind, IndexParameters, IndexSpec } from '../shared/indexSpec.js';
import type { Envelope } from '../shared/transport/transport.js';
import type { ShredMarks } from '../shared/vault/shredMarks.js';
import type { VaultStore } from '../shared/vault/vaultStore.js';

export interface Collection extends CollectionConfig {
  /** As requested at creation, or since; as far as this process was told. */
  readonly index: DesiredKind;
  readonly indexParameters: IndexParameters;
  /** Where it came as an export: it is of no use before that is finished. */
  readonly imported?: ImportState;
}

export interface Counted extends Collection {
  readonly records: number;
  readonly logBytes: number;
  /** On the disk of its shard; 0 where that does not answer. */
  readonly snapshotBytes: number;
  /** The index that serves searches now; of a collection whose shard does not answer, the one that was asked for. */
  readonly serving: IndexKind | 'brute';
}

export interface WantedCollection {
  readonly name: string;
  readonly dimension: number;
  readonly index: DesiredKind;
}

/** A collection as an export tells of it, under a name of its own here. */
export interface WantedImport {
  readonly name: string;
  readonly origin: CollectionOrigin;
  readonly dimension: number;
  readonly createdAtMs: number;
  readonly spec: IndexSpec;
  readonly end: ImportEnd;
}

export interface Imported extends Collection {
  readonly imported: ImportState;
}

export interface Health {
  readonly shards: number;
  readonly collections: number;
  readonly records: number;
  /** Why the service cannot do its work; undefined where it can. */
  readonly problem: string | undefined;
  /** What it cannot do for now, while all else goes on. */
  readonly impairment: string | undefined;
  /** What shards found damaged; the rest serves. */
  readonly damages: readonly Damage[];
}

export interface Backend {
  readonly mode: 'cluster' | 'standalone';
  /** The largest set of vectors and attachments that fits one commit frame. */
  readonly maxCommitBytes: number;
  /** Throws `collection_not_found`, `conflict` where it is still being imported. */
  find(project: string, name: string): Promise<Collection>;
  /** One that a vault entry lists, whatever its state; undefined where it was deleted. */
  findById(collectionId: number): Promise<Collection | undefined>;
  /** Makes the collection or finds the identical one. Throws `conflict` where dimension or metric differ, `capacity_exceeded` at the project's bound. */
  create(
    project: string,
    wanted: WantedCollection,
    envelope: Envelope,
  ): Promise<{ readonly collection: Collection; readonly created: boolean }>;
  /**
   * Makes the collection that an export will be sent to, or finds the one that this very export is sent to, or was. Throws
   * `conflict` where the name is another collection's, `capacity_exceeded` at the project's bound.
   */
  beginImport(
    project: string,
    wanted: WantedImport,
    envelope: Envelope,
  ): Promise<{ readonly collection: Imported; readonly created: boolean }>;
  /** Throws `collection_not_found`, `conflict` where it was not imported. */
  findImport(project: string, name: string): Promise<Imported>;
  /** From here on the collection is as any other. May be repeated. */
  finishImport(collection: Imported): Promise<void>;
  /** By name, those too that are being imported. */
  list(project: string, envelope: Envelope): Promise<readonly Counted[]>;
  /** Erases the collection and everything in it. Throws `collection_not_found`. */
  remove(project: string, name: string, envelope: Envelope): Promise<void>;
  /**
   * Asks the collection's owner, or, for a search that is to tell its sequence, one of its followers. Throws what the owner
   * throws, `unavailable` where none answers in time.
   */
  call<C extends Call>(collection: Collection, call: C, envelope: Envelope): Promise<ResultOf<C>>;
  /** Wrapped data keys of all projects. */
  vault(): Promise<VaultStore>;
  shredMarks(): Promise<ShredMarks>;
  health(): Promise<Health>;
  /** prom-client's JSON of what this process measures of the cluster. */
  metrics(): Promise<unknown>;
  /** The same of each shard that answers. */
  shardMetrics(): Promise<readonly { readonly shard: string; readonly json: unknown }[]>;
}
