/** HTTP requests and answers of calls about a collection's log. */
import type { StateCall, TimelineCall } from '../../history/proofs.js';
import { get, type Way } from './call.js';

export const state: Way<
  StateCall,
  {
    readonly sequence: number;
    readonly final_state_hash: string;
    readonly state_root: string;
    readonly chain_head: string;
  }
> = {
  request: ({ collection }) => get(`/v1/proof/state?collection=${collection}`),
  answer: ({ sequence, final_state_hash: stateHash, state_root: stateRoot, chain_head: chainHead }) => ({
    sequence,
    stateHash,
    stateRoot,
    chainHead,
  }),
};

export const timeline: Way<
  TimelineCall,
  {
    readonly total: number;
    readonly events: readonly {
      readonly log_index: number;
      readonly event_type: string;
      readonly record_id?: number;
      readonly node_id?: number;
      readonly edge_id?: number;
      readonly key_id?: string;
    }[];
  }
> = {
  request: ({ collection, after, limit }) => get(`/v1/timeline?collection=${collection}&after=${after}&limit=${limit}`),
  answer: ({ total, events }) => ({
    total,
    events: events.map((event) => ({
      sequence: event.log_index,
      type: event.event_type,
      // A node may be linked to a record; the event is about the node.
      about: event.node_id ?? event.edge_id ?? event.record_id ?? event.key_id ?? 0,
    })),
  }),
};
