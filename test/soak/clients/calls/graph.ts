/** HTTP requests and answers of graph calls. */
import type {
  AddEdgeCall,
  AddNodeCall,
  EdgesCall,
  GetNodeCall,
  SubgraphCall,
  UnlinkCall,
} from '../../history/graph.js';
import { get, NO_RECORD, NOTHING, post, type Way } from './call.js';

interface Logged {
  readonly log_index: number;
}

export const addNode: Way<AddNodeCall, Logged & { readonly node_id: number }> = {
  request: ({ collection, kind, recordId }) => post('/v1/graph/node', { collection, kind, record_id: recordId }),
  answer: ({ node_id: nodeId, log_index: sequence }) => ({ nodeId, sequence }),
  noes: NO_RECORD,
};

export const addEdge: Way<AddEdgeCall, Logged & { readonly edge_id: number }> = {
  request: ({ collection, from, to, kind }) => post('/v1/graph/edge', { collection, from, to, kind }),
  answer: ({ edge_id: edgeId, log_index: sequence }) => ({ edgeId, sequence }),
  noes: NOTHING,
};

export const unlink: Way<UnlinkCall, Logged> = {
  request: ({ op, collection, id }) => ({
    method: 'DELETE',
    path: `/v1/graph/${op === 'deleteNode' ? 'node' : 'edge'}/${id}?collection=${collection}`,
  }),
  answer: ({ log_index: sequence }) => ({ sequence }),
  noes: NOTHING,
};

export const getNode: Way<
  GetNodeCall,
  { readonly node_id: number; readonly kind: number; readonly record_id: number | null }
> = {
  request: ({ collection, id }) => get(`/v1/graph/node/${id}?collection=${collection}`),
  answer: ({ node_id: id, kind, record_id: recordId }) => ({ id, kind, recordId }),
  noes: NOTHING,
};

export const edges: Way<
  EdgesCall,
  { readonly edges: readonly { readonly edge_id: number; readonly to_node: number; readonly kind: number }[] }
> = {
  request: ({ collection, id }) => get(`/v1/graph/edges/${id}?collection=${collection}`),
  answer: (body, { id: from }) => ({
    edges: body.edges.map(({ edge_id: id, to_node: to, kind }) => ({ id, from, to, kind })),
  }),
  noes: NOTHING,
};

export const subgraph: Way<
  SubgraphCall,
  {
    readonly nodes: readonly { readonly id: number; readonly kind: number; readonly record: number | null }[];
    readonly edges: readonly {
      readonly id: number;
      readonly from: number;
      readonly to: number;
      readonly kind: number;
    }[];
  }
> = {
  request: ({ collection, root, depth }) =>
    get(`/v1/graph/subgraph?root=${root}&depth=${depth}&collection=${collection}`),
  answer: (body) => ({
    nodes: body.nodes.map(({ id, kind, record: recordId }) => ({ id, kind, recordId })),
    edges: body.edges.map(({ id, from, to, kind }) => ({ id, from, to, kind })),
  }),
  noes: NOTHING,
};
