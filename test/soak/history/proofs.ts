/** Calls about what a collection's log is. */
import type { Asked } from './asked.js';

export interface StateCall
  extends Asked<
    'state',
    { readonly sequence: number; readonly stateHash: string; readonly stateRoot: string; readonly chainHead: string }
  > {}

/** Of each event the id of what it is about; of one about a key, the key's. */
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
