/** The outside names of the parameters of indexes: in requests, in the catalog and in the manifests of saved indexes. */
import type { IndexParameters } from './indexSpec.js';

/** Index parameters by their outside names; null counts as absent. */
export interface NamedParameters {
  readonly m?: IndexParameters['m'] | null;
  readonly ef_construction?: IndexParameters['efConstruction'] | null;
  readonly ef_search?: IndexParameters['efSearch'] | null;
  readonly n_list?: IndexParameters['nList'] | null;
  readonly n_probe?: IndexParameters['nProbe'] | null;
  readonly candidates?: IndexParameters['candidates'] | null;
}

/** The only list of the names. Manifests have the parameters in this order. */
export const OUTSIDE_NAMES: Readonly<Record<keyof IndexParameters, keyof NamedParameters>> = {
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
