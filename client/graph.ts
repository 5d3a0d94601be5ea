/** The graph of a collection: nodes, edges and walks. Creation of nodes and edges is not retried after a broken connection. */
import type {
  CreateEdgeRequest,
  CreateEdgeResponse,
  CreateNodeRequest,
  CreateNodeResponse,
  EdgesQuery,
  EdgesResponse,
  GraphQuery,
  GraphQueryResponse,
  NodeResponse,
  NodesQuery,
  NodesResponse,
  SubgraphQuery,
  SubgraphResponse,
} from './contract/graph.js';
import type { DeleteResponse } from './contract/records.js';
import { idSegment, type RequestName, withOwn } from './exact.js';
import type { CallOptions, Http } from './http.js';

type Here<Request> = Omit<Request, 'collection'>;

export class Graph {
  readonly #http: Http;
  readonly #collection: string;

  /** @internal */
  constructor(http: Http, collection: string) {
    this.#http = http;
    this.#collection = collection;
  }

  createNode(request: Here<CreateNodeRequest>, options: CallOptions = {}): Promise<CreateNodeResponse> {
    return this.#create('/v1/graph/node', 'CreateNodeRequest', request, options);
  }

  createEdge(request: Here<CreateEdgeRequest>, options: CallOptions = {}): Promise<CreateEdgeResponse> {
    return this.#create('/v1/graph/edge', 'CreateEdgeRequest', request, options);
  }

  node(id: number, options: CallOptions = {}): Promise<NodeResponse> {
    return this.#get(`/v1/graph/node/${idSegment(id)}`, 'CollectionQuery', {}, options);
  }

  /** Deletes a node with its edges. */
  deleteNode(id: number, options: CallOptions = {}): Promise<DeleteResponse> {
    return this.#remove(`/v1/graph/node/${idSegment(id)}`, options);
  }

  deleteEdge(id: number, options: CallOptions = {}): Promise<DeleteResponse> {
    return this.#remove(`/v1/graph/edge/${idSegment(id)}`, options);
  }

  nodes(query: Here<NodesQuery> = {}, options: CallOptions = {}): Promise<NodesResponse> {
    return this.#get('/v1/graph/nodes', 'NodesQuery', query, options);
  }

  /** The edges that leave a node. */
  edges(node: number, query: Here<EdgesQuery> = {}, options: CallOptions = {}): Promise<EdgesResponse> {
    return this.#get(`/v1/graph/edges/${idSegment(node)}`, 'EdgesQuery', query, options);
  }

  subgraph(query: Here<SubgraphQuery>, options: CallOptions = {}): Promise<SubgraphResponse> {
    return this.#get('/v1/graph/subgraph', 'SubgraphQuery', query, options);
  }

  query(query: Here<GraphQuery>, options: CallOptions = {}): Promise<GraphQueryResponse> {
    return this.#get('/v1/graph/query', 'GraphQuery', query, options);
  }

  #get<T>(path: string, of: RequestName, query: object, options: CallOptions): Promise<T> {
    const named = withOwn(query, { collection: this.#collection });
    return this.#http.json({ method: 'GET', path, of, query: named, repeat: 'safe' }, options);
  }

  #create<T>(path: string, of: RequestName, request: object, options: CallOptions): Promise<T> {
    const body = withOwn(request, { collection: this.#collection });
    return this.#http.json({ method: 'POST', path, of, body, repeat: 'once' }, options);
  }

  async #remove(path: string, options: CallOptions): Promise<DeleteResponse> {
    const query = { collection: this.#collection };
    const call = { method: 'DELETE', path, query, repeat: 'removal' } as const;
    return (await this.#http.json<DeleteResponse | undefined>(call, options)) ?? { success: true };
  }
}
