/** One fault at one call of a disk. */
import type { SimulatedService } from '../cluster/simulatedService.js';

/** What happens at the call: it fails, or the process ends before or behind it, or the machine loses its power. */
export const SWEEP_WAYS = [
  'EIO',
  'ENOSPC',
  'killed before',
  'killed behind',
  'power lost before',
  'power lost behind',
] as const;
export type SweepWay = (typeof SWEEP_WAYS)[number];

export interface SweepPoint {
  /** Counted from when the clients begin; from 1. */
  readonly call: number;
  readonly way: SweepWay;
}

const DOWN_MS = 300;

export class DiskCalls {
  count = 0;
  /** The call and the path where the fault was. */
  pointPath: string | undefined;

  /** Counts the calls of the first machine with data from now on, and makes the fault at its point. */
  constructor(service: SimulatedService, point: SweepPoint | undefined) {
    const name = service.shardNames[0]!;
    const { world, disks, processes } = service;
    const end = (): void => {
      processes.get(name)!.kill(DOWN_MS);
      if (point?.way.startsWith('power')) disks.losePower(name);
    };
    disks.of(name).fail = (syscall, path) => {
      if (++this.count !== point?.call) return undefined;
      this.pointPath = `${syscall} ${path}`;
      world.note(`call ${point.call}, ${this.pointPath}: ${point.way}`, 'sweep');
      if (point.way === 'EIO' || point.way === 'ENOSPC') return point.way;
      // A call that has no effect any more: the caller has ended.
      if (point.way.endsWith('before')) {
        world.at(world.root, 0, 'sweep', end);
        return 'EIO';
      }
      world.at(world.root, 0, 'sweep', end);
      return undefined;
    };
  }
}
