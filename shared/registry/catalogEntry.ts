/**
 * The entry of a collection in the catalog bucket, stored as snake_case JSON. Coordinators create and delete entries; the
 * shard that owns the collection changes its index.
 */
import type { BucketValue, Entry } from '../bucket/bucket.js';
import { type Actor, actorOf, type NamedActor, namedActor } from '../model/actor.js';
import type { CollectionConfig, CollectionOrigin } from '../model/collectionConfig.js';
import type { DesiredKind, IndexParameters, IndexSpec } from '../model/indexSpec.js';

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
}

/** Index parameters with their stored names, which callers use too; null counts as absent. */
interface NamedParameters {
  readonly m?: IndexParameters['m'] | null;
  readonly ef_construction?: IndexParameters['efConstruction'] | null;
  readonly ef_search?: IndexParameters['efSearch'] | null;
  readonly n_list?: IndexParameters['nList'] | null;
  readonly n_probe?: IndexParameters['nProbe'] | null;
  readonly candidates?: IndexParameters['candidates'] | null;
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
  readonly index: DesiredKind;
  /** Absent if only the kind was given. */
  readonly index_parameters?: NamedParameters;
  readonly created_at_ms: number;
  readonly created_by?: NamedActor;
  /** Present in an imported collection. */
  readonly origin?: CollectionOrigin;
  readonly import?: StoredImport;
}

const OUTSIDE_NAMES: Readonly<Record<keyof IndexParameters, keyof NamedParameters>> = {
  m: 'm',
  efConstruction: 'ef_construction',
  efSearch: 'ef_search',
  nList: 'n_list',
  nProbe: 'n_probe',
  candidates: 'candidates',
};
const NAMES = Object.entries(OUTSIDE_NAMES) as [keyof IndexParameters, keyof NamedParameters][];

/** Decodes index parameters; ignores unknown ones. */
export const parametersOf = (named: NamedParameters): IndexParameters =>
  Object.fromEntries(NAMES.flatMap(([inside, outside]) => present(inside, named[outside])));

const present = (name: string, value: number | null | undefined): [string, number][] =>
  value === null || value === undefined ? [] : [[name, value]];

/** Encodes index parameters. */
export const namedParameters = (parameters: IndexParameters): { readonly [name in keyof NamedParameters]?: number } =>
  Object.fromEntries(NAMES.flatMap(([inside, outside]) => present(outside, parameters[inside])));

export const catalogKey = (project: string, name: string): string => `${project}.${name}`;

export function catalogEntryOf({ value }: Entry): CatalogEntry {
  const {
    created_at_ms,
    created_by,
    index,
    index_parameters,
    import: stored,
    ...rest
  } = value as unknown as StoredCatalogEntry;
  return {
    config: { ...rest, createdAtMs: created_at_ms, ...(created_by && { createdBy: actorOf(created_by) }) },
    spec: { kind: index, parameters: parametersOf(index_parameters ?? {}) },
    ...(stored === undefined ? {} : { imported: importStateOf(stored) }),
  };
}

const importStateOf = ({ sequence, chain_head, state_hash, finished, by }: StoredImport): ImportState => {
  return { sequence, chainHead: chain_head, stateHash: state_hash, finished, ...(by && { by: actorOf(by) }) };
};

const storedImport = ({ sequence, chainHead, stateHash, finished, by }: ImportState) => {
  return { sequence, chain_head: chainHead, state_hash: stateHash, finished, ...(by && { by: namedActor(by) }) };
};

export function storedEntry({ config, spec, imported }: CatalogEntry): BucketValue {
  const { id, project, name, dimension, metric, normalise, createdAtMs, createdBy, origin } = config;
  return {
    ...{ id, project, name, dimension, metric, ...indexFields(spec), created_at_ms: createdAtMs },
    ...(createdBy && { created_by: namedActor(createdBy) }),
    ...(normalise && { normalise }),
    ...(origin && { origin: { ...origin } }),
    ...(imported && { import: storedImport(imported) }),
  };
}

/** The stored value with another index. */
export function withSpec({ value }: Entry, spec: IndexSpec): BucketValue {
  const { index_parameters: _, ...rest } = value as { readonly [field: string]: BucketValue };
  return { ...rest, ...indexFields(spec) };
}

function indexFields({ kind, parameters }: IndexSpec): {
  index: DesiredKind;
  index_parameters?: { readonly [name in keyof NamedParameters]?: number };
} {
  const named = namedParameters(parameters);
  return Object.keys(named).length === 0 ? { index: kind } : { index: kind, index_parameters: named };
}
