/** Where operations are swept: a service with one collection, and a client that asks for them. */
import type { SimulatedService } from '../cluster/simulatedService.js';
import type { Asker } from './asker.js';

export const COLLECTION = 'c1';
export const DIMENSION = 4;

export interface Stage {
  readonly service: SimulatedService;
  readonly ask: Asker;
  /** Counts the faults; what an operation makes is named after it. */
  number: number;
  /** Runs as a process of its own on the machine of the first shard. Rejects where it is killed. */
  tool(work: () => Promise<void>): Promise<void>;
}
