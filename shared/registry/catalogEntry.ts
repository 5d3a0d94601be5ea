/**
 * The entry of a collection in the catalog bucket, stored as snake_case JSON. Coordinators create and delete entries; the
 * shard that owns the collection changes its index.
 */
import type { BucketValue, Entry } from '../bucket/bucket.js';
import { type Actor, actorOf, type NamedActor, namedActor } from '../model/actor.js';
import type { CollectionConfig, CollectionOrigin } from '../model/collectionConfig.js';
import { type NamedParameters, namedParameters, parametersOf } from '../model/indexParameters.js';
import type { DesiredKind, IndexSpec } from '../model/indexSpec.js';
import { type AccessChange, type NamedReadAudit, namedReadAudit } from '../model/readAudit.js';
import type { TextSettings } from '../model/textLanguage.js';
import type { RetentionDays, TtlSecs } from '../model/whole.js';

/** The announced end of an import. Hashes are 64 lowercase hex. */
export interface ImportEnd {
  readonly sequence: number;
  readonly chainHead: string;
  readonly stateHash: string;
}

/** The state of an import, which finishes once, when the log is the announced one. */
export interface ImportState extends ImportEnd {
  readonly finished: boolean;
  /** The actor that began the import; absent in imports by versions that name no actors. */
  readonly by?: Actor;
}

/** Whether the collection is still being imported. Until the import finishes it is only sent to, listed and deleted. */
export const isImporting = ({ imported }: { readonly imported?: ImportState }): boolean => imported?.finished === false;

export interface CatalogEntry {
  readonly config: CollectionConfig;
  readonly spec: IndexSpec;
  /** Absent if the collection was created here. */
  readonly imported?: ImportState;
  /** Absent: reads are not audited. The log of the collection decides; this copy is for coordinators. */
  readonly auditReads?: NamedReadAudit;
  /** Days for which entries of the access log are kept. Absent: forever. A copy too. */
  readonly accessRetentionDays?: RetentionDays;
  /** Present while the two above are those that the creation asks for, and the log may not have them yet. */
  readonly accessAsked?: true;
  /** Present once `auditReads` was switched off: the access log may still have entries. */
  readonly wasAudited?: true;
  /** The life of new records without an expiry of their own. Absent: they do not expire. */
  readonly ttlSecs?: TtlSecs;
}

interface StoredImport {
  readonly sequence: number;
  readonly chain_head: string;
  readonly state_hash: string;
  readonly finished: boolean;
  readonly by?: NamedActor;
}

export interface StoredCatalogEntry {
  readonly id: number;
  readonly project: string;
  readonly name: string;
  readonly dimension: number;
  readonly metric: 'squared_l2';
  readonly normalise?: true;
  readonly text?: TextSettings;
  readonly erasable?: true;
  readonly index: DesiredKind;
  /** Absent if only the kind was given. */
  readonly index_parameters?: NamedParameters;
  readonly created_at_ms: number;
  readonly created_by?: NamedActor;
  /** Present in an imported collection. */
  readonly origin?: CollectionOrigin;
  readonly import?: StoredImport;
  readonly audit_reads?: NamedReadAudit;
  readonly access_retention_days?: RetentionDays;
  readonly access_asked?: true;
  readonly was_audited?: true;
  readonly ttl_secs?: TtlSecs;
}

export const catalogKey = (project: string, name: string): string => `${project}.${name}`;

export function catalogEntryOf({ value }: Entry): CatalogEntry {
  const {
    created_at_ms,
    created_by,
    index,
    index_parameters,
    import: stored,
    audit_reads: auditReads,
    access_retention_days: accessRetentionDays,
    access_asked: accessAsked,
    was_audited: wasAudited,
    ttl_secs: ttlSecs,
    ...rest
  } = value as unknown as StoredCatalogEntry;
  return {
    config: { ...rest, createdAtMs: created_at_ms, ...(created_by && { createdBy: actorOf(created_by) }) },
    spec: { kind: index, parameters: parametersOf(index_parameters ?? {}) },
    ...(stored === undefined ? {} : { imported: importStateOf(stored) }),
    ...(auditReads && { auditReads }),
    ...(accessRetentionDays && { accessRetentionDays }),
    ...(accessAsked && { accessAsked }),
    ...(wasAudited && { wasAudited }),
    ...(ttlSecs && { ttlSecs }),
  };
}

const importStateOf = ({ sequence, chain_head, state_hash, finished, by }: StoredImport): ImportState => {
  return { sequence, chainHead: chain_head, stateHash: state_hash, finished, ...(by && { by: actorOf(by) }) };
};

const storedImport = ({ sequence, chainHead, stateHash, finished, by }: ImportState) => {
  return { sequence, chain_head: chainHead, state_hash: stateHash, finished, ...(by && { by: namedActor(by) }) };
};

export function storedEntry(entry: CatalogEntry): BucketValue {
  const { config, spec, imported, auditReads, accessRetentionDays, accessAsked, wasAudited, ttlSecs } = entry;
  const { id, project, name, dimension, metric, normalise, text, erasable, createdAtMs, createdBy, origin } = config;
  return {
    ...{ id, project, name, dimension, metric, ...indexFields(spec), created_at_ms: createdAtMs },
    ...(createdBy && { created_by: namedActor(createdBy) }),
    ...(normalise && { normalise }),
    ...(text && { text: { ...text } }),
    ...(erasable && { erasable }),
    ...(origin && { origin: { ...origin } }),
    ...(imported && { import: storedImport(imported) }),
    ...(auditReads && { audit_reads: auditReads }),
    ...(accessRetentionDays && { access_retention_days: accessRetentionDays }),
    ...(accessAsked && { access_asked: accessAsked }),
    ...(wasAudited && { was_audited: wasAudited }),
    ...(ttlSecs && { ttl_secs: ttlSecs }),
  };
}

/** The fields of an entry for the settings of an access log. */
export function accessFields({
  audit = 'off',
  retentionDays = 0,
}: AccessChange): Pick<CatalogEntry, 'auditReads' | 'accessRetentionDays'> {
  const auditReads = namedReadAudit(audit);
  return { ...(auditReads && { auditReads }), ...(retentionDays > 0 && { accessRetentionDays: retentionDays }) };
}

/** The stored value with another index. */
export function withSpec({ value }: Entry, spec: IndexSpec): BucketValue {
  const { index_parameters: _, ...rest } = value as { readonly [field: string]: BucketValue };
  return { ...rest, ...indexFields(spec) };
}

function indexFields({ kind, parameters }: IndexSpec): {
  index: DesiredKind;
  index_parameters?: ReturnType<typeof namedParameters>;
} {
  const named = namedParameters(parameters);
  return Object.keys(named).length === 0 ? { index: kind } : { index: kind, index_parameters: named };
}
