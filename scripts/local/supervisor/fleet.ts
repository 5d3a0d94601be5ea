/**
 * The processes of one `npm start`, in stages: a stage starts when the previous one serves, and stops when the next one has ended.
 * All processes end with this one: see `watchdog.ts`.
 */
import { join } from 'node:path';
import { makeDirectory } from '../../../shared/files/durable.js';
import { Mutex } from '../../../shared/scheduling/mutex.js';
import { type Sign, say, seconds } from '../../terminal/line.js';
import { AlarmBell, alarmOf, isLogged } from './childLog.js';
import { LogFile } from './logFile.js';
import { OpeningsShown } from './openingsShown.js';
import { type ProcessObserver, type ProcessPlan, SupervisedProcess } from './supervisedProcess.js';
import { Watchdog } from './watchdog.js';

/** Reports an event of a process to a person. `isComplaint`: it is a warning or error from the log of the process. */
export type Report = (sign: Sign, name: string, text: string, isComplaint?: boolean) => void;

interface FleetOptions {
  readonly dataDir: string;
  /** The lowest of pino's levels in the log files. */
  readonly logLevel: number;
  /** Whether warnings and errors in the logs of the processes are reported. */
  readonly showsAlarms: boolean;
  /** Called when a process has started or ended. */
  readonly onChange: () => void;
  readonly report: Report;
}

export class Fleet {
  readonly #logFolder: string;
  readonly #watchdog = new Watchdog();
  readonly #bell = new AlarmBell();
  readonly #shown = new OpeningsShown();
  /** The opening of log files. */
  readonly #logOpenings = new Mutex();
  readonly #stages: SupervisedProcess[][] = [];
  readonly #logs = new Map<string, LogFile>();
  #stopping: Promise<void> | undefined;

  constructor(private readonly options: FleetOptions) {
    this.#logFolder = join(options.dataDir, 'logs');
    this.#watchdog.start();
  }

  /** The ids of the running processes by name. */
  get processIds(): Readonly<Record<string, number>> {
    const ids = this.#stages.flat().flatMap(({ plan, pid }) => (pid === undefined ? [] : [[plan.name, pid] as const]));
    return Object.fromEntries(ids);
  }

  /** Starts one more stage, and resolves when each of its processes serves. Throws an Error of one line. */
  async startStage(plans: readonly ProcessPlan[]): Promise<void> {
    await this.#logOpenings.run(() => this.#openLogs(plans));
    if (this.#stopping) throw new Error('stopped');
    const stage = plans.map((plan) => new SupervisedProcess(plan, this.#observer));
    this.#stages.push(stage);
    const outcomes = await Promise.allSettled(stage.map((process) => process.start()));
    for (const [i, outcome] of outcomes.entries())
      if (outcome.status === 'rejected')
        throw new Error(`${(outcome.reason as Error).message}; see ${this.#logPath(plans[i]!.name)}`);
  }

  /** Stops all processes, the last stage first; kills those that take too long. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  /** Kills all processes. */
  kill(): void {
    for (const process of this.#stages.flat()) process.kill();
  }

  async #openLogs(plans: readonly ProcessPlan[]): Promise<void> {
    if (this.#stopping) throw new Error('stopped');
    await makeDirectory(this.#logFolder);
    for (const { name } of plans) this.#logs.set(name, await LogFile.open(this.#logPath(name)));
  }

  async #stopAll(): Promise<void> {
    // No file is created in the folder after this, so its owner may remove it.
    await this.#logOpenings.idle();
    this.#shown.clear();
    for (const stage of [...this.#stages].reverse()) await Promise.all(stage.map((process) => process.stop()));
    this.#watchdog.stop();
    await Promise.all([...this.#logs.values()].map((log) => log.close()));
  }

  readonly #observer: ProcessObserver = {
    line: ({ name }, line) => {
      const { logLevel, showsAlarms, report } = this.options;
      if (isLogged(line, logLevel)) this.#logs.get(name)?.write(line);
      if (!showsAlarms || this.#stopping) return;
      const alarm = alarmOf(line);
      if (alarm !== undefined && this.#bell.rings(name, alarm)) report('warning', name, alarm, true);
      // A `report` other than `say` draws on the terminal itself, which this would disturb.
      if (report === say) this.#shown.see(name, line);
    },
    changed: () => {
      const [first = [], ...later] = this.#stages;
      this.#watchdog.guard(pidsOf(later.flat()), pidsOf(first));
      this.options.onChange();
    },
    ended: ({ name }, how, restartInMs) => {
      this.#shown.forget(name);
      const next = restartInMs === undefined ? 'is not started again' : `starts again in ${seconds(restartInMs)}`;
      if (!this.#stopping) this.options.report('warning', name, `${how}; ${next}`);
    },
    recovered: ({ name }) => this.options.report('done', name, 'serves again'),
  };

  #logPath(name: string): string {
    return join(this.#logFolder, `${name.replaceAll(' ', '-')}.log`);
  }
}

const pidsOf = (processes: readonly SupervisedProcess[]): number[] => processes.flatMap(({ pid }) => pid ?? []);
