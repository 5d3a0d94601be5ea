/** Calls about a collection's log. */
import type { Asked } from './asked.js';

export interface StateCall
  extends Asked<
    'state',
    { readonly sequence: number; readonly stateHash: string; readonly stateRoot: string; readonly chainHead: string }
  > {}

/** An event with the id of its subject; for an event about a key, the key's id. */
export interface ShownEvent {
  readonly sequence: number;
  readonly type: string;
  readonly about: number | string;
}

export interface TimelineCall
  extends Asked<'timeline', { readonly total: number; readonly events: readonly ShownEvent[] }> {
  readonly after: number;
  readonly limit: number;
}
