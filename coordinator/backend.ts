/**
 * What the HTTP edge needs of everything behind it. One implementation (`cluster/`) serves both modes; the edge sees
 * no shard, no bucket and no log.
 */
import type { Call, CollectionConfig, ResultOf } from '../shared/calls.js';
import type { DesiredKind, IndexKind } from '../shared/indexSpec.js';
import type { Envelope } from '../shared/transport/transport.js';

export interface Collection extends CollectionConfig {
  /** As requested at creation, or since; as far as this process was told. */
  readonly index: DesiredKind;
}

export interface Counted extends Collection {
  readonly records: number;
  readonly logBytes: number;
  /** The index that serves searches now; of a collection whose shard does not answer, the one that was asked for. */
  readonly serving: IndexKind | 'brute';
}

export interface WantedCollection {
  readonly name: string;
  readonly dimension: number;
  readonly index: DesiredKind;
}

export interface Health {
  readonly shards: number;
  readonly collections: number;
  readonly records: number;
  /** Why the service cannot do its work; undefined where it can. */
  readonly problem: string | undefined;
}

export interface Backend {
  readonly mode: 'cluster' | 'standalone';
  /** The largest set of vectors and attachments that fits one commit frame. */
  readonly maxCommitBytes: number;
  /** Throws `collection_not_found`. */
  find(project: string, name: string): Promise<Collection>;
  /** Makes the collection or finds the identical one. Throws `conflict` where dimension or metric differ, `capacity_exceeded` at the project's bound. */
  create(
    project: string,
    wanted: WantedCollection,
    envelope: Envelope,
  ): Promise<{ readonly collection: Collection; readonly created: boolean }>;
  /** By name. */
  list(project: string, envelope: Envelope): Promise<readonly Counted[]>;
  /** Erases the collection and everything in it. Throws `collection_not_found`. */
  remove(project: string, name: string, envelope: Envelope): Promise<void>;
  /** Asks the collection's owner. Throws what the owner throws, `unavailable` where none answers in time. */
  call<C extends Call>(collection: Collection, call: C, envelope: Envelope): Promise<ResultOf<C>>;
  health(): Promise<Health>;
  /** prom-client's JSON of each shard that answers. */
  shardMetrics(): Promise<readonly { readonly shard: string; readonly json: unknown }[]>;
}
