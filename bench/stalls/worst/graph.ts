/** Worst inputs of the graph. */
import { EDGES, HUB, hub, hubLog, LESSER_HUB, SUBGRAPH } from '../fixtures.js';
import type { Rows } from '../row.js';
import type { Stage } from '../stage.js';

const own = async (stage: Stage): Promise<string> => stage.imported(await hubLog());

export const GRAPH: Rows = {
  'POST /v1/graph/node': { small: 'a node is three numbers, and is added beside the others' },
  'GET /v1/graph/node/{id}': { small: 'one node is found by its number' },
  'DELETE /v1/graph/node/{id}': [
    {
      input: 'a node with 50,000 edges',
      because: 'all of them are deleted with it',
      prepare: async (stage) => stage.ask('DELETE', `/v1/graph/node/${HUB}?collection=${await own(stage)}`),
    },
  ],
  'GET /v1/graph/nodes': [
    {
      input: 'the last page of 50,000 nodes of a kind',
      because: 'those before it are skipped',
      prepare: async (stage) =>
        stage.get('/v1/graph/nodes', { collection: await hub(stage), kind: 1, offset: EDGES - 10_000, limit: 10_000 }),
    },
  ],
  'POST /v1/graph/edge': [
    {
      input: 'one more edge of a node with 50,000',
      because: 'the list of the edges of the node is part of its leaf',
      prepare: async (stage) =>
        stage.post('/v1/graph/edge', { collection: await own(stage), from: HUB, to: 2, kind: 0 }),
    },
  ],
  'DELETE /v1/graph/edge/{id}': [
    {
      input: 'the first edge of a node with 50,000',
      because: 'it is taken out of the list of the edges of the node',
      prepare: async (stage) => stage.ask('DELETE', `/v1/graph/edge/1?collection=${await hub(stage)}`),
    },
  ],
  'GET /v1/graph/edges/{id}': [
    {
      input: 'the last page of 50,000 edges',
      because: 'those before it are skipped',
      prepare: async (stage) =>
        stage.get(`/v1/graph/edges/${HUB}`, { collection: await hub(stage), offset: EDGES - 10_000, limit: 10_000 }),
    },
    {
      input: 'all of 50,000 edges',
      because: 'they are counted before they are refused',
      statuses: [400],
      prepare: async (stage) => stage.get(`/v1/graph/edges/${HUB}`, { collection: await hub(stage) }),
    },
  ],
  'GET /v1/graph/subgraph': [
    {
      input: `${SUBGRAPH} nodes and edges`,
      because: 'it is the largest that is answered',
      prepare: async (stage) =>
        stage.get('/v1/graph/subgraph', { collection: await hub(stage), root: LESSER_HUB, depth: 4 }),
    },
    {
      input: '50,000 nodes and edges',
      because: 'they are found before they are refused',
      statuses: [400],
      prepare: async (stage) => stage.get('/v1/graph/subgraph', { collection: await hub(stage), root: HUB, depth: 4 }),
    },
  ],
  'GET /v1/graph/query': [
    {
      input: '50,000 nodes in every direction',
      because: 'all are counted and sorted',
      prepare: async (stage) =>
        stage.get('/v1/graph/query', {
          ...{ collection: await hub(stage), start: HUB, depth: 4, direction: 'both', limit: 1_000 },
        }),
    },
  ],
};
