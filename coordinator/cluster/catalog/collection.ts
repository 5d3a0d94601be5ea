/** Collections as a coordinator knows them: their entry of the catalog, and what their shards count. */
import type { Actor } from '../../../shared/model/actor.js';
import type { CollectionConfig, CollectionOrigin } from '../../../shared/model/collectionConfig.js';
import type { DesiredKind, IndexKind, IndexParameters, IndexSpec } from '../../../shared/model/indexSpec.js';
import type { NamedReadAudit, ReadAudit } from '../../../shared/model/readAudit.js';
import type { TextSettings } from '../../../shared/model/textLanguage.js';
import type { RetentionDays, TtlSecs } from '../../../shared/model/whole.js';
import type { ImportEnd, ImportState } from '../../../shared/registry/catalogEntry.js';

export interface Collection extends CollectionConfig {
  /** The requested index, as last received by this process. */
  readonly index: DesiredKind;
  readonly indexParameters: IndexParameters;
  /** Present if it was imported. It cannot be used before the import is finished. */
  readonly imported?: ImportState;
  /** Present where reads are audited, as last received by this process. */
  readonly auditReads?: NamedReadAudit;
  /** Days for which entries of the access log are kept, as last received by this process. Absent: forever. */
  readonly accessRetentionDays?: RetentionDays;
  /** Present while the two above are those that the creation asks for, and the log may not have them yet. */
  readonly accessAsked?: true;
  /** Present once `auditReads` was switched off: the access log may still have entries. */
  readonly wasAudited?: true;
  /** The life of new records without an expiry of their own. Absent: they do not expire. */
  readonly ttlSecs?: TtlSecs;
}

export interface CountedCollection extends Collection {
  readonly records: number;
  /** The number of committed events. */
  readonly sequence: number;
  readonly logBytes: number;
  /** On the disk of its shard; 0 if the shard does not answer. */
  readonly snapshotBytes: number;
  /** The index that serves searches now; the wanted one if the shard does not answer. */
  readonly serving: IndexKind | 'brute';
}

export interface WantedCollection {
  readonly name: string;
  readonly dimension: number;
  readonly normalise?: true;
  readonly text?: TextSettings;
  readonly erasable?: true;
  readonly index: DesiredKind;
  /** Absent: as it is in a collection that exists, off in a new one. */
  readonly audit?: ReadAudit;
  /** Absent: as it is in a collection that exists, forever in a new one. */
  readonly retentionDays?: RetentionDays;
  readonly ttlSecs?: TtlSecs;
}

/** The collection of an export, under its name here. */
export interface WantedImport {
  readonly name: string;
  readonly origin: CollectionOrigin;
  readonly dimension: number;
  readonly normalise?: true;
  readonly text?: TextSettings;
  readonly erasable?: true;
  readonly createdAtMs: number;
  readonly createdBy?: Actor;
  readonly spec: IndexSpec;
  readonly ttlSecs?: TtlSecs;
  readonly end: ImportEnd;
}

export interface ImportedCollection extends Collection {
  readonly imported: ImportState;
}

/** `created`: false if the collection existed already. */
export interface Created<C extends Collection = Collection> {
  readonly collection: C;
  readonly created: boolean;
}
