/** One fault at one step of a process: a call of its disk, or a message that it sends or receives. */
import type { SimulatedService } from '../cluster/simulatedService.js';
import type { Party } from '../world/party.js';

/** A call fails, or the process ends before or behind the step, or its machine loses the power there. */
export const SWEEP_WAYS = [
  'EIO',
  'ENOSPC',
  'killed before',
  'killed behind',
  'power lost before',
  'power lost behind',
] as const;
export type SweepWay = (typeof SWEEP_WAYS)[number];

/** Whose steps are counted. */
export interface Victim {
  readonly machine: string;
  /** The process now. */
  party(): Party | undefined;
  kill(): void;
}

/** The files of the registry of a standalone node are looked at all the time. */
const isPolled = (syscall: string, path: string): boolean =>
  (syscall === 'scandir' || syscall === 'stat') && path.includes('/registry/');

export class SweepPoint {
  /** Steps until now. */
  count = 0;
  /** The step at which the fault was. */
  reached: string | undefined;

  /** Counts the steps of the victim from now on, and makes the fault at the one of that number, from 1. */
  constructor(
    private readonly service: SimulatedService,
    private readonly victim: Victim,
    private readonly way: SweepWay,
    private readonly at: number,
  ) {
    service.disks.of(victim.machine).fail = (syscall, path) => {
      if (isPolled(syscall, path) || !this.#isReached(`${syscall} ${path}`)) return undefined;
      if (way === 'EIO' || way === 'ENOSPC') return way;
      this.#crash();
      // A call without an effect: by the time it is told, the caller has ended.
      return way.endsWith('before') ? 'EIO' : undefined;
    };
    if (way === 'EIO' || way === 'ENOSPC') return;
    service.network.stopsMessage = (kind, party) => {
      if (party.process !== victim.party() || !this.#isReached(`a message is ${kind}`)) return false;
      this.#crash();
      return way.endsWith('before');
    };
  }

  stop(): void {
    this.service.disks.of(this.victim.machine).fail = () => undefined;
    this.service.network.stopsMessage = () => false;
  }

  #isReached(what: string): boolean {
    if (++this.count !== this.at) return false;
    this.reached = what;
    this.service.world.note(`step ${this.at}, ${what}: ${this.way}`, 'sweep');
    return true;
  }

  #crash(): void {
    const { world, disks } = this.service;
    world.at(world.root, 0, 'sweep', () => {
      this.victim.kill();
      if (this.way.startsWith('power')) disks.losePower(this.victim.machine);
    });
  }
}
