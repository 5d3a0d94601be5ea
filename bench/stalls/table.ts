/** The worst inputs of every endpoint. A new endpoint needs a row: `worstInputs.test.ts` compares with the routes. */
import type { Rows } from './row.js';
import { ANY_PATH } from './worst/anyPath.js';
import { GRAPH } from './worst/graph.js';
import { LOGS } from './worst/logs.js';
import { READS } from './worst/reads.js';
import { SEARCHES } from './worst/searches.js';
import { SERVICE } from './worst/service.js';
import { WRITES } from './worst/writes.js';

/** Rows keyed by method and path. */
export const ENDPOINT_ROWS: Rows = { ...SERVICE, ...WRITES, ...READS, ...SEARCHES, ...GRAPH, ...LOGS };
export const WORST_INPUTS: Rows = { ...ANY_PATH, ...ENDPOINT_ROWS };
