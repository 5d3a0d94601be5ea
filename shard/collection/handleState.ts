/**
 * The states of a collection on its shard, and the transitions that do not depend on the collection itself.
 *
 * ```
 *   idle ──first call──▶ opening ──▶ open ──promoted──▶ serving ──demoted──▶ open
 *   opening ──failed──▶ idle
 *   idle, opening, open, serving ──damage──▶ quarantined ──the damage is gone──▶ opening, idle
 *   idle, open, serving, quarantined ──close()──▶ closed
 * ```
 *
 * Damage is of two kinds. Stored bytes do not verify, until the shard restarts or the damaged key is shredded. Or openings have
 * stopped shards, until an operator releases the collection.
 */
import { unreachable } from '../../shared/errors/errors.js';
import type { Collection } from './collection.js';
import type { Quarantine } from './quarantine.js';

/** One opening. All callers that wait share its result. The states compare it: an earlier opening must not end a later one. */
export class Opening {
  readonly result: Promise<Collection>;

  constructor(open: (self: Opening) => Promise<Collection>) {
    this.result = open(this);
  }
}

/** The collection that was open before a quarantine: a commit may still run in it. */
export type Former = Collection | undefined;

interface InMemory {
  readonly opening: Opening;
  readonly collection: Collection;
}

interface Open extends InMemory {
  readonly kind: 'open';
}

interface Serving extends InMemory {
  readonly kind: 'serving';
}

export interface Quarantined {
  readonly kind: 'quarantined';
  readonly quarantine: Quarantine;
  /** An opening that still runs, or the one that opened `former`. Its collection is closed when the quarantine ends. */
  readonly opening: Opening | undefined;
  readonly former: Former;
}

export type HandleState =
  /** Only the name of the collection is in memory. */
  | { readonly kind: 'idle'; readonly former: Former }
  | { readonly kind: 'opening'; readonly opening: Opening; readonly former: Former }
  /** A follower, or an owner that has not read the log to its end yet. */
  | Open
  /** An owner: everything is applied that the log held when the ownership began. */
  | Serving
  | Quarantined
  | { readonly kind: 'closed' };

export const openingOf = (state: HandleState): Opening | undefined => ('opening' in state ? state.opening : undefined);

/** The open collection. */
export const openOf = (state: HandleState): Collection | undefined =>
  state.kind === 'serving' || state.kind === 'open' ? state.collection : undefined;

/** The collection that was opened last: a commit may run in it. */
export function latestOf(state: HandleState): Collection | undefined {
  switch (state.kind) {
    case 'open':
    case 'serving':
      return state.collection;
    case 'idle':
    case 'opening':
    case 'quarantined':
      return state.former;
    case 'closed':
      return undefined;
    default:
      return unreachable(state);
  }
}

/** The opening has succeeded. A quarantine that began meanwhile keeps the collection closed to calls. */
export function afterOpening(state: HandleState, opening: Opening, collection: Collection): HandleState {
  if (openingOf(state) !== opening) return state;
  return state.kind === 'quarantined' ? { ...state, former: collection } : { kind: 'open', opening, collection };
}

export function afterFailedOpening(state: HandleState, opening: Opening): HandleState {
  if (openingOf(state) !== opening) return state;
  return state.kind === 'quarantined' ? { ...state, opening: undefined } : { kind: 'idle', former: latestOf(state) };
}

/** The collection of the owner serves. */
export function afterPromotion(state: HandleState): Serving {
  if (state.kind !== 'open') throw new RangeError(`a collection that is ${state.kind} cannot begin to serve`);
  return { ...state, kind: 'serving' };
}

export const afterDemotion = (state: HandleState): HandleState =>
  state.kind === 'serving' ? { ...state, kind: 'open' } : state;

export const afterDamage = (state: HandleState, quarantine: Quarantine): HandleState =>
  state.kind === 'closed'
    ? state
    : { kind: 'quarantined', quarantine, opening: openingOf(state), former: latestOf(state) };
