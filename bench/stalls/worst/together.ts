/** Worst inputs that many clients send at the same time. */
import type { Rows, WorstInput } from '../row.js';
import { GRAPH } from './graph.js';
import { LOGS } from './logs.js';
import { READS } from './reads.js';
import { SEARCHES } from './searches.js';
import { SERVICE } from './service.js';
import { WRITES } from './writes.js';

const AT_ONCE = 24;

/** The most expensive input of each kind of work, except bodies of 32 MiB: few of them fit the memory for bodies. */
const DEAREST: readonly (readonly [endpoint: string, input: string])[] = [
  ['POST /v1/search', 'a filter on a path that is not indexed, over 64 KB of metadata a record'],
  ['POST /v1/search', 'a comparison with an object 60 levels deep'],
  ['POST /v1/search', 'a query_text of combining marks in the wrong order'],
  ['POST /v1/search', 'group_by of 65,536 different values'],
  ['POST /v1/search', '5,000 hits with all fields and decay'],
  ['POST /v1/search', 'hits whose metadata and texts are as large as they may be'],
  ['POST /v1/search', 'vectors of 32,768 components'],
  ['POST /v1/search', 'graph_rerank from a node with 50,000 edges'],
  ['POST /v1/search/batch', '20,000 hits with all fields'],
  ['POST /v1/records', 'metadata of 7,000 keys'],
  ['POST /v1/records', 'a text of different words'],
  ['POST /v1/records/get', '80 ids of records whose metadata and texts are as large as they may be'],
  ['GET /v1/records', 'a page of vectors of 32,768 components'],
  ['GET /v1/facets', '65,536 different texts'],
  ['GET /v1/graph/subgraph', '9999 nodes and edges'],
  ['GET /v1/graph/query', '50,000 nodes in every direction'],
  ['GET /v1/proof/receipt', 'an early write of 65,536'],
  ['GET /v1/timeline', 'a page of events with metadata and texts as large as they may be'],
  ['GET /v1/export/log', 'a piece of 8 MiB from the middle'],
  ['GET /v1/cluster', 'many collections'],
];

const RATE_LIMITED = 429;

/** Returns an input that sends the request of `worst` `AT_ONCE` times at once. */
const together = (worst: WorstInput): WorstInput => ({
  ...worst,
  input: `${worst.input}, ${AT_ONCE} times at once`,
  statuses: [...(worst.statuses ?? [200]), RATE_LIMITED],
  prepare: async (stage) => {
    const attack = await worst.prepare(stage);
    return async () => (await Promise.all(Array.from({ length: AT_ONCE }, attack))).flat();
  },
});

const ALL: Rows = { ...SERVICE, ...WRITES, ...READS, ...SEARCHES, ...GRAPH, ...LOGS };

function rowOf(endpoint: string, input: string): WorstInput {
  const row = ALL[endpoint];
  const found = row === undefined || 'small' in row ? undefined : row.find((each) => each.input === input);
  if (found === undefined) throw new Error(`the table has no row "${input}" for ${endpoint}`);
  return found;
}

export const TOGETHER: Rows = Object.fromEntries(
  [...new Set(DEAREST.map(([endpoint]) => endpoint))].map((endpoint) => [
    endpoint,
    DEAREST.filter(([each]) => each === endpoint).map(([, input]) => together(rowOf(endpoint, input))),
  ]),
);
