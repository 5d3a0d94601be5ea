/** One fault at one step of a process: a disk call, or a message that it sends or receives. */
import type { SimulatedService } from '../cluster/simulatedService.js';
import type { Party } from '../world/party.js';

/** Kinds of faults: the call fails, the process ends before or after the step, or its machine loses power there. */
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
  /** Number of the step, from 1. */
  readonly at: number;
}

/** Disk errors apply only to disk calls; the other faults apply to every step. */
export const isDiskError = (way: SweepWay): way is 'EIO' | 'ENOSPC' => way === 'EIO' || way === 'ENOSPC';

const MESSAGE = 'a message is ';

/** Whether a fault applies to the step of that name. */
export const canMeet = (step: string, way: SweepWay): boolean => !isDiskError(way) || !step.startsWith(MESSAGE);

/** Process whose steps are counted. */
export interface Victim {
  readonly machine: string;
  /** The process at this moment. */
  party(): Party | undefined;
  kill(): void;
}

/** A standalone node polls the files of its registry all the time. */
const isPolled = (syscall: string, path: string): boolean =>
  (syscall === 'scandir' || syscall === 'stat') && path.includes('/registry/');

/** Hides the process-wide counter in names of unfinished files. */
const named = (syscall: string, path: string): string => `${syscall} ${path.replace(/\.\d+-\d+-\d+\.tmp$/, '.tmp')}`;

export class SweepPoint {
  /** Names of the steps so far. */
  readonly steps: string[] = [];

  /** Counts the victim's steps from now on, and makes the fault at its step. */
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
      // The call has no effect; by the time it would return, the caller has ended.
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
