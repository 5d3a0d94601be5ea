/**
 * Parameters of HNSW with their defaults: m (neighbours), ef_construction and ef_search (widths of the candidate
 * lists).
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
 * Returns the capacity for so many rows. Growing later would copy the whole graph in the thread that serves. A spare
 * node costs about 54 bytes until it is used.
 */
export const capacityFor = (rows: number): number => rows + Math.ceil(rows / 8) + 1024;
