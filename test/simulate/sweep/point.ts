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

export interface SweepFault {
  readonly way: SweepWay;
  /** The number of the step, from 1. */
  readonly at: number;
}

/** In one of these ways a call of the disk fails; in the others the process ends, which any step may meet. */
export const isDiskError = (way: SweepWay): way is 'EIO' | 'ENOSPC' => way === 'EIO' || way === 'ENOSPC';

const MESSAGE = 'a message is ';

/** Of a step, by its name. */
export const canMeet = (step: string, way: SweepWay): boolean => !isDiskError(way) || !step.startsWith(MESSAGE);

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

/** Names of unfinished files hold a count of the whole process. */
const named = (syscall: string, path: string): string => `${syscall} ${path.replace(/\.\d+-\d+-\d+\.tmp$/, '.tmp')}`;

export class SweepPoint {
  /** The names of the steps until now. */
  readonly steps: string[] = [];

  /** Counts the steps of the victim from now on, and makes the fault at its step. */
  constructor(
    private readonly service: SimulatedService,
    private readonly victim: Victim,
    private readonly fault: SweepFault | undefined,
  ) {
    service.disks.of(victim.machine).fail = (syscall, path) => {
      if (isPolled(syscall, path)) return undefined;
      const way = this.#reaches(named(syscall, path));
      if (way === undefined || isDiskError(way)) return way;
      this.#crash(way);
      // A call without an effect: by the time it is told, the caller has ended.
      return way.endsWith('before') ? 'EIO' : undefined;
    };
    service.network.stopsMessage = (kind, party) => {
      if (party.process !== victim.party()) return false;
      const way = this.#reaches(`${MESSAGE}${kind}`);
      if (way === undefined) return false;
      this.#crash(way);
      return way.endsWith('before');
    };
  }

  stop(): void {
    this.service.disks.of(this.victim.machine).fail = () => undefined;
    this.service.network.stopsMessage = () => false;
  }

  #reaches(step: string): SweepWay | undefined {
    this.steps.push(step);
    const { fault } = this;
    if (this.steps.length !== fault?.at) return undefined;
    this.service.world.note(`step ${fault.at}, ${step}: ${fault.way}`, 'sweep');
    return fault.way;
  }

  #crash(way: SweepWay): void {
    const { world, disks } = this.service;
    world.at(world.root, 0, 'sweep', () => {
      this.victim.kill();
      if (way.startsWith('power')) disks.losePower(this.victim.machine);
    });
  }
}
