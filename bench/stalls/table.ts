/** The worst inputs of every endpoint. A new endpoint needs a row: `worstInputs.test.ts` compares with the routes. */
import type { Rows } from './row.js';
import { ANY_PATH } from './worst/anyPath.js';
import { GRAPH } from './worst/graph.js';
import { LOGS } from './worst/logs.js';
import { METADATA } from './worst/metadata.js';
import { READS } from './worst/reads.js';
import { SEARCHES } from './worst/searches.js';
import { SERVICE } from './worst/service.js';
import { WRITES } from './worst/writes.js';

export { TOGETHER } from './worst/together.js';

/** Rows keyed by method and path. */
export const ENDPOINT_ROWS: Rows = { ...SERVICE, ...WRITES, ...METADATA, ...READS, ...SEARCHES, ...GRAPH, ...LOGS };
export const WORST_INPUTS: Rows = { ...ANY_PATH, ...ENDPOINT_ROWS };
/** Inputs for a follower, which answers eventual searches. */
export const FOLLOWER_INPUTS: Rows = {
  'POST /v1/search': ofPresent(SEARCHES['POST /v1/search']!),
  'POST /v1/search/batch': ofPresent(SEARCHES['POST /v1/search/batch']!),
};

/** The row without searches of the past, which only owners answer. */
function ofPresent(row: Rows[string]): Rows[string] {
  return 'small' in row ? row : row.filter(({ input }) => !/as_of|of the past/.test(input));
}
