/** Calls about the graph of a collection. */
import type { Asked } from './asked.js';

export interface AddNodeCall extends Asked<'addNode', { readonly nodeId: number; readonly sequence: number }> {
  readonly kind: number;
  readonly recordId: number | null;
}

export interface AddEdgeCall extends Asked<'addEdge', { readonly edgeId: number; readonly sequence: number }> {
  readonly from: number;
  readonly to: number;
  readonly kind: number;
}

export interface UnlinkCall extends Asked<'deleteNode' | 'deleteEdge', { readonly sequence: number }> {
  readonly id: number;
}

export interface GraphNode {
  readonly id: number;
  readonly kind: number;
  readonly recordId: number | null;
}

export interface GraphEdge {
  readonly id: number;
  readonly from: number;
  readonly to: number;
  readonly kind: number;
}

export interface GetNodeCall extends Asked<'getNode', GraphNode> {
  readonly id: number;
}

/** Outgoing edges of a node. */
export interface EdgesCall extends Asked<'edges', { readonly edges: readonly GraphEdge[] }> {
  readonly id: number;
}

export interface SubgraphCall
  extends Asked<'subgraph', { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[] }> {
  readonly root: number;
  readonly depth: number;
}

export type GraphWriteCall = AddNodeCall | AddEdgeCall | UnlinkCall;
export type GraphReadCall = GetNodeCall | EdgesCall | SubgraphCall;
