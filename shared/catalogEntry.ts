/**
 * A collection's entry in the catalog bucket, as it is stored: JSON in snake_case, for the operator who reads it with the
 * NATS CLI. Coordinators make and delete entries; the shard that owns the collection changes what it says of the index.
 */
import type { Entry, Json } from './bucket/bucket.js';
import type { CollectionConfig, CollectionOrigin } from './calls.js';
import type { DesiredKind, IndexParameters, IndexSpec } from './indexSpec.js';

/** What an import was told to end with. Hashes are 64 lowercase hex. */
export interface ImportEnd {
  readonly sequence: number;
  readonly chainHead: string;
  readonly stateHash: string;
}

/** Of a collection that came as an export of another, or is coming: it is of no use before it is finished. */
export interface ImportState extends ImportEnd {
  readonly finished: boolean;
}

export interface CatalogEntry {
  readonly config: CollectionConfig;
  readonly spec: IndexSpec;
  /** Absent where the collection was made here. */
  readonly imported?: ImportState;
}

/** Index parameters under their names outside of the code, as stored and as callers send them; null is absent. */
export interface NamedParameters {
  readonly m?: IndexParameters['m'] | null;
  readonly ef_construction?: IndexParameters['efConstruction'] | null;
  readonly ef_search?: IndexParameters['efSearch'] | null;
  readonly n_list?: IndexParameters['nList'] | null;
  readonly n_probe?: IndexParameters['nProbe'] | null;
  readonly candidates?: IndexParameters['candidates'] | null;
}

export interface StoredCatalogEntry {
  readonly id: number;
  readonly project: string;
  readonly name: string;
  readonly dimension: number;
  readonly metric: 'squared_l2';
  readonly index: DesiredKind;
  /** Absent where nothing but the kind was asked for. */
  readonly index_parameters?: NamedParameters;
  readonly created_at_ms: number;
  /** Of a collection that was imported, or is being. */
  readonly origin?: CollectionOrigin;
  readonly import?: {
    readonly sequence: number;
    readonly chain_head: string;
    readonly state_hash: string;
    readonly finished: boolean;
  };
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

/** Unknown keys are passed over. */
export const parametersOf = (named: NamedParameters): IndexParameters =>
  Object.fromEntries(NAMES.flatMap(([inside, outside]) => present(inside, named[outside])));

const present = (name: string, value: number | null | undefined): [string, number][] =>
  value === null || value === undefined ? [] : [[name, value]];

export const namedParameters = (parameters: IndexParameters): { readonly [name in keyof NamedParameters]?: number } =>
  Object.fromEntries(NAMES.flatMap(([inside, outside]) => present(outside, parameters[inside])));

export const catalogKey = (project: string, name: string): string => `${project}.${name}`;

export function catalogEntryOf({ value }: Entry): CatalogEntry {
  const {
    created_at_ms,
    index,
    index_parameters = {},
    import: stored,
    ...rest
  } = value as unknown as StoredCatalogEntry;
  return {
    config: { ...rest, createdAtMs: created_at_ms },
    spec: { kind: index, parameters: parametersOf(index_parameters) },
    ...(stored === undefined ? {} : { imported: importStateOf(stored) }),
  };
}

export function storedEntry({ config, spec, imported }: CatalogEntry): Json {
  const { id, project, name, dimension, metric, createdAtMs, origin } = config;
  return {
    ...{ id, project, name, dimension, metric, ...indexFields(spec), created_at_ms: createdAtMs },
    ...(origin === undefined ? {} : { origin: { ...origin } }),
    ...(imported === undefined ? {} : { import: storedImport(imported) }),
  };
}

const importStateOf = ({
  sequence,
  chain_head,
  state_hash,
  finished,
}: NonNullable<StoredCatalogEntry['import']>): ImportState => ({
  sequence,
  chainHead: chain_head,
  stateHash: state_hash,
  finished,
});

const storedImport = ({ sequence, chainHead, stateHash, finished }: ImportState) => ({
  sequence,
  chain_head: chainHead,
  state_hash: stateHash,
  finished,
});

/** The stored value with another index, and all else as it is. */
export function withSpec({ value }: Entry, spec: IndexSpec): Json {
  const { index_parameters: _, ...rest } = value as { readonly [field: string]: Json };
  return { ...rest, ...indexFields(spec) };
}

function indexFields({ kind, parameters }: IndexSpec): {
  index: DesiredKind;
  index_parameters?: { readonly [name in keyof NamedParameters]?: number };
} {
  const named = namedParameters(parameters);
  return Object.keys(named).length === 0 ? { index: kind } : { index: kind, index_parameters: named };
}
