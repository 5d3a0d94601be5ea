/** The measured settings of each kind of index, from fast to thorough. */
import type { IndexKind, IndexParameters } from '../shared/model/indexSpec.js';

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

/** Settings grouped by kind, since all settings of a kind search one build. */
export const SETTINGS: readonly Setting[] = [
  ...WIDTHS.map((efSearch): Setting => ({ kind: 'hnsw', name: `hnsw ef ${efSearch}`, parameters: { efSearch } })),
  ...PROBES.map(
    (nProbe): Setting => ({
      kind: 'ivf',
      name: `ivf ${nProbe} of ${LISTS} lists`,
      parameters: { nList: LISTS, nProbe },
    }),
  ),
  ...CANDIDATES.map(
    (candidates): Setting => ({ kind: 'bq', name: `bq ${candidates} candidates`, parameters: { candidates } }),
  ),
];
