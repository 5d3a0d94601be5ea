/**
 * The parameters of HNSW with their defaults. A node has `m` neighbours. The width is the number of nodes that are kept while a
 * node is linked (`efConstruction`), or while a search runs (`efSearch`).
 */
import type { IndexParameters } from '../../../shared/model/indexSpec.js';

const M = 16;
const EF_CONSTRUCTION = 200;
const EF_SEARCH = 64;

export const neighbours = ({ m }: IndexParameters): number => m ?? M;
export const constructionWidth = ({ efConstruction }: IndexParameters): number => efConstruction ?? EF_CONSTRUCTION;
export const searchWidth = ({ efSearch }: IndexParameters, k: number): number => Math.max(k, efSearch ?? EF_SEARCH);

export const sameBuild = (one: IndexParameters, other: IndexParameters): boolean =>
  neighbours(one) === neighbours(other) && constructionWidth(one) === constructionWidth(other);

/**
 * Returns the capacity of a graph of `rows` rows, in an index of `all` rows. A later growth would copy the whole index.
 * A spare node takes about 54 bytes until it is used.
 */
export const capacityFor = (rows: number, all: number): number => rows + Math.ceil(all / 8) + 1024;
