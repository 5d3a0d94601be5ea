/**
 * Decides which builds begin, and which of them runs. Fair between projects, then between their collections. A place is the
 * right to use memory for a build.
 *
 * ```text
 *             gets a place                 has run for trialMs
 *  waiting ─────────────────▶ on trial ────────────────────────▶ long ──▶ ended
 *     ▲                          │ no place for another long build
 *     └── for such a place ──────┘ its work so far is lost, once
 * ```
 *
 * One build runs at a time; the other started builds are paused. Projects with started builds take turns of equal time.
 * The builds of a project alternate.
 *
 * Long builds never get all places, and a project has at most one build on trial. So a place becomes free within a bounded
 * time. Projects take turns at free places. Requested builds get them first, but every fourth place goes to maintenance.
 */
import type { Clock } from '../../../shared/clock.js';
import { FairQueue, ONE_UNIT } from '../../../shared/scheduling/fairQueue.js';

/** Facts of a build that decide its turns. */
export interface TurnJob {
  readonly project: string;
  readonly collectionId: number;
  /** True if a caller waits for the build; other builds are maintenance. */
  readonly urgent: boolean;
}

export interface TurnRules {
  /** Largest number of builds that have begun and not ended. */
  readonly places: number;
  /** Largest number of long builds among them, in all and per project. */
  readonly longPlaces: number;
  readonly longPlacesOfProject: number;
  /** Time for which a build is on trial. */
  readonly trialMs: number;
  /** Length of a project's turn. */
  readonly turnMs: number;
}

/** One place in so many goes to a build of maintenance, if there is one. */
const MAINTENANCE_EVERY = 4;

type Stage = 'trial' | 'long';

interface Entry<Job> {
  readonly job: Job;
  stage: Stage;
  /** Time for which the build has run. */
  usedMs: number;
  /** Whether the build gets no more turns. It keeps its place until its thread has stopped. */
  isEnding: boolean;
}

interface Project {
  /** Builds that wait or have begun. */
  jobs: number;
  /** Time used of the current turn. */
  usedMs: number;
}

type Queue<Job> = FairQueue<number, Entry<Job>>;

/** Builds that wait for a place of one stage. */
class Waiting<Job extends TurnJob> {
  readonly #requested: Queue<Job>;
  readonly #maintenance: Queue<Job>;
  /** Number of places given. */
  #given = 0;

  constructor(clock: Clock) {
    this.#requested = new FairQueue(Number.POSITIVE_INFINITY, clock);
    this.#maintenance = new FairQueue(Number.POSITIVE_INFINITY, clock);
  }

  push(entry: Entry<Job>): void {
    const { collectionId, project } = entry.job;
    this.#queueOf(entry).push(collectionId, entry, ONE_UNIT, project);
  }

  remove(entry: Entry<Job>): boolean {
    return this.#queueOf(entry).remove(entry.job.collectionId, entry);
  }

  /** Takes the next build, of a project for which `mayHave` returns true. */
  take(mayHave: (project: string) => boolean): Entry<Job> | undefined {
    const queues = [this.#requested, this.#maintenance];
    if (this.#given % MAINTENANCE_EVERY === MAINTENANCE_EVERY - 1) queues.reverse();
    for (const queue of queues) {
      const entry = queue.take((_, project) => mayHave(String(project)));
      if (entry === undefined) continue;
      this.#given++;
      return entry;
    }
    return undefined;
  }

  #queueOf({ job }: Entry<Job>): Queue<Job> {
    return job.urgent ? this.#requested : this.#maintenance;
  }
}

export class BuildTurns<Job extends TurnJob> {
  readonly #entries = new Map<Job, Entry<Job>>();
  /** Projects in the order of their turns, the current one first. */
  readonly #projects = new Map<string, Project>();
  readonly #waiting: Readonly<Record<Stage, Waiting<Job>>>;
  /** Builds that have a place. The one whose turn ended last is last. */
  readonly #begun = new Set<Entry<Job>>();

  /** `hasRoom`: whether there is memory for a build beside others. */
  constructor(
    private readonly rules: TurnRules,
    clock: Clock,
    private readonly hasRoom: () => boolean = () => true,
  ) {
    this.#waiting = { trial: new Waiting(clock), long: new Waiting(clock) };
  }

  /** Numbers of builds that have a place, and that wait for one. */
  get counts(): { readonly begun: number; readonly waiting: number } {
    return { begun: this.#begun.size, waiting: this.#entries.size - this.#begun.size };
  }

  add(job: Job): void {
    const entry: Entry<Job> = { job, stage: 'trial', usedMs: 0, isEnding: false };
    this.#entries.set(job, entry);
    const project = this.#projects.get(job.project);
    if (project === undefined) this.#projects.set(job.project, { jobs: 1, usedMs: 0 });
    else project.jobs++;
    this.#waiting.trial.push(entry);
  }

  /** Assigns free places, and returns the build that is to run now. */
  next(): Job | undefined {
    while (this.#begun.size < this.rules.places && (this.#begun.size === 0 || this.hasRoom())) {
      const entry =
        this.#waiting.long.take((project) => this.#hasLongPlace(project)) ??
        this.#waiting.trial.take((project) => this.#countBegun('trial', project) === 0);
      if (entry === undefined) break;
      this.#begun.add(entry);
    }
    for (const project of this.#projects.keys())
      for (const { job, isEnding } of this.#begun) if (job.project === project && !isEnding) return job;
    return undefined;
  }

  /** Returns the time for which a build may run before `spend` must be called. */
  leftMs(job: Job): number {
    const { stage, usedMs } = this.#entries.get(job)!;
    const turnMs = this.rules.turnMs - this.#projects.get(job.project)!.usedMs;
    return stage === 'long' ? turnMs : Math.min(turnMs, this.rules.trialMs - usedMs);
  }

  /** Adds to the time for which a build has run. Returns false if the build must end; then call `again` after its end. */
  spend(job: Job, ms: number): boolean {
    const entry = this.#entries.get(job)!;
    const project = this.#projects.get(job.project)!;
    entry.usedMs += ms;
    project.usedMs += ms;
    if (project.usedMs >= this.rules.turnMs) this.#endTurn(entry, project);
    if (entry.isEnding || entry.stage === 'long' || entry.usedMs < this.rules.trialMs) return true;
    const mayStay = this.#hasLongPlace(job.project);
    entry.stage = 'long';
    entry.isEnding = !mayStay;
    return mayStay;
  }

  /** Gives a started build no more turns, since it was cancelled. */
  ending(job: Job): void {
    this.#entries.get(job)!.isEnding = true;
  }

  /** Queues a build that `spend` has ended. It starts from scratch once there is a place for a long one. */
  again(job: Job): void {
    const entry = this.#entries.get(job)!;
    this.#begun.delete(entry);
    entry.isEnding = false;
    this.#waiting.long.push(entry);
  }

  /** Removes a build that has ended, or that waits and is no longer wanted. */
  remove(job: Job): void {
    const entry = this.#entries.get(job)!;
    this.#entries.delete(job);
    if (!this.#begun.delete(entry)) this.#waiting[entry.stage].remove(entry);
    const project = this.#projects.get(job.project)!;
    if (--project.jobs === 0) this.#projects.delete(job.project);
  }

  #hasLongPlace(project: string): boolean {
    const { longPlaces, longPlacesOfProject } = this.rules;
    return this.#countBegun('long') < longPlaces && this.#countBegun('long', project) < longPlacesOfProject;
  }

  /** Counts the started builds of a stage, by default of all projects. A build that must end does not count. */
  #countBegun(wanted: Stage, project?: string): number {
    let count = 0;
    for (const { job, stage, isEnding } of this.#begun)
      if (stage === wanted && !isEnding && (project === undefined || job.project === project)) count++;
    return count;
  }

  /** Moves the project behind other projects, and its build behind its other builds. */
  #endTurn(entry: Entry<Job>, project: Project): void {
    project.usedMs = 0;
    this.#projects.delete(entry.job.project);
    this.#projects.set(entry.job.project, project);
    this.#begun.delete(entry);
    this.#begun.add(entry);
  }
}
