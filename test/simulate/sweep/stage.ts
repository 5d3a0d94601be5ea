/** Where operations are swept: a service with one collection, and a client that asks for them. */
import type { Asker } from './asker.js';

export const COLLECTION = 'c1';
export const DIMENSION = 4;

export interface Stage {
  readonly ask: Asker;
  /** What an operation makes is named after it. */
  readonly number: number;
  /** Replaces the master key, in a process of its own beside the first shard. Rejects where it fails or is killed. */
  rotate(): Promise<void>;
  /** The first shard ends, at once or in order, and starts again. */
  restart(way: 'kill' | 'stop'): Promise<void>;
}
