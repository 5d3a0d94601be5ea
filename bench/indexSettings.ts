/** The measured settings of each kind of index, from fast to thorough. */
import { INDEX_KINDS, type IndexKind, type IndexParameters } from '../shared/model/indexSpec.js';

export interface Setting {
  readonly kind: IndexKind;
  /** Part of the figure's name. */
  readonly name: string;
  readonly parameters: IndexParameters;
}

export const WIDTHS = [64, 128, 256, 512] as const;
const LISTS = 512;
const PROBES = [8, 16, 32, 64, 96, 128] as const;
const CANDIDATES = [200, 500, 1_000, 2_000] as const;

/** Settings of each kind. All settings of a kind search one build. */
const SETTINGS_OF: Readonly<Record<IndexKind, readonly Omit<Setting, 'kind'>[]>> = {
  hnsw: WIDTHS.map((efSearch) => ({ name: `hnsw ef ${efSearch}`, parameters: { efSearch } })),
  ivf: PROBES.map((nProbe) => ({
    name: `ivf ${nProbe} of ${LISTS} lists`,
    parameters: { nList: LISTS, nProbe },
  })),
  bq: CANDIDATES.map((candidates) => ({ name: `bq ${candidates} candidates`, parameters: { candidates } })),
};

/** All settings, grouped by kind. */
export const SETTINGS: readonly Setting[] = INDEX_KINDS.flatMap((kind) =>
  SETTINGS_OF[kind].map((setting) => ({ kind, ...setting })),
);
