/** The stage of swept operations: a service with one collection, and its client. */
import type { Asker } from './asker.js';

export const COLLECTION = 'c1';
export const DIMENSION = 4;

export interface Stage {
  readonly ask: Asker;
  /** Distinguishes the things that each run of an operation creates. */
  readonly number: number;
  /** Replaces the master key, in a process of its own beside the first shard. Rejects if it fails or is killed. */
  rotate(): Promise<void>;
  /** Ends the first shard, by a kill or an orderly stop, and starts it again. */
  restart(way: 'kill' | 'stop'): Promise<void>;
}
