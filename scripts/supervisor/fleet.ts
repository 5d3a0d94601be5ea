/**
 * The processes of one `npm start`, in stages: a stage is started when the one before it serves, and stopped when the
 * one after it is gone. All of them end with this process, see the watchdog.
 */
import { join } from 'node:path';
import { makeDirectory } from '../../shared/durable.js';
import { type Mark, say, seconds } from '../terminal/line.js';
import { AlarmBell, alarmOf, isLogged } from './childLog.js';
import { LogFile } from './logFile.js';
import { OpeningsShown } from './openingsShown.js';
import { StartError } from './startError.js';
import { type ProcessObserver, type ProcessPlan, SupervisedProcess } from './supervisedProcess.js';
import { Watchdog } from './watchdog.js';

/** Says something about a process to whoever watches. `isComplaint`: the process has logged it. */
export type Tell = (mark: Mark, name: string, text: string, isComplaint?: boolean) => void;

export interface FleetOptions {
  readonly dataDir: string;
  /** pino's number of what goes to the files. */
  readonly logLevel: number;
  /** Whether warnings and errors of the processes are told too. */
  readonly showsAlarms: boolean;
  /** A process came or went. */
  readonly onChange: () => void;
  readonly tell?: Tell;
}

export class Fleet {
  readonly #logFolder: string;
  readonly #logLevel: number;
  readonly #showsAlarms: boolean;
  readonly #onChange: () => void;
  readonly #tell: Tell;
  readonly #watchdog = new Watchdog();
  readonly #bell = new AlarmBell();
  readonly #openings = new OpeningsShown();
  readonly #stages: SupervisedProcess[][] = [];
  readonly #logs = new Map<string, LogFile>();
  #stopping: Promise<void> | undefined;

  constructor({ dataDir, logLevel, showsAlarms, onChange, tell = say }: FleetOptions) {
    this.#logFolder = join(dataDir, 'logs');
    this.#logLevel = logLevel;
    this.#showsAlarms = showsAlarms;
    this.#onChange = onChange;
    this.#tell = tell;
    this.#watchdog.start();
  }

  /** Name → process id of what runs now. */
  get processIds(): Readonly<Record<string, number>> {
    const running = this.#stages.flat().filter(({ pid }) => pid !== undefined);
    return Object.fromEntries(running.map(({ plan, pid }) => [plan.name, pid!]));
  }

  /** Starts one more stage, and resolves when each of its processes serves. Throws StartError. */
  async startStage(plans: readonly ProcessPlan[]): Promise<void> {
    await makeDirectory(this.#logFolder);
    for (const { name } of plans) this.#logs.set(name, await LogFile.open(this.#logPath(name)));
    if (this.#stopping) throw new StartError('stopped');
    const stage = plans.map((plan) => new SupervisedProcess(plan, this.#observer));
    this.#stages.push(stage);
    const outcomes = await Promise.allSettled(stage.map((process) => process.start()));
    const failed = outcomes.findIndex(({ status }) => status === 'rejected');
    if (failed === -1) return;
    const { reason } = outcomes[failed] as PromiseRejectedResult;
    throw new StartError(`${(reason as Error).message}; see ${this.#logPath(plans[failed]!.name)}`);
  }

  /** Stops all, the last stage first, each cleanly or else by force; resolves when nothing is left. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  /** Ends all at once, without asking. */
  kill(): void {
    for (const process of this.#stages.flat()) process.kill();
  }

  async #stopAll(): Promise<void> {
    this.#openings.clear();
    for (const stage of [...this.#stages].reverse()) await Promise.all(stage.map((process) => process.stop()));
    this.#watchdog.stop();
    await Promise.all([...this.#logs.values()].map((log) => log.close()));
  }

  readonly #observer: ProcessObserver = {
    line: ({ name }, line) => {
      if (isLogged(line, this.#logLevel)) this.#logs.get(name)?.write(line);
      const alarm = this.#showsAlarms ? alarmOf(line) : undefined;
      if (alarm !== undefined && !this.#stopping && this.#bell.rings(name, alarm))
        this.#tell('warning', name, alarm, true);
      // Who tells in a way of his own draws on the terminal himself.
      if (this.#showsAlarms && this.#tell === say && !this.#stopping) this.#openings.see(name, line);
    },
    changed: () => {
      const [first = [], ...later] = this.#stages;
      this.#watchdog.guard(pidsOf(later.flat()), pidsOf(first));
      this.#onChange();
    },
    ended: ({ name }, how, restartInMs) => {
      this.#openings.forget(name);
      const next = restartInMs === undefined ? 'is left so' : `starts again in ${seconds(restartInMs)}`;
      if (!this.#stopping) this.#tell('warning', name, `${how}; ${next}`);
    },
    recovered: ({ name }) => this.#tell('done', name, 'serves again'),
  };

  #logPath(name: string): string {
    return join(this.#logFolder, `${name.replaceAll(' ', '-')}.log`);
  }
}

const pidsOf = (processes: readonly SupervisedProcess[]): number[] =>
  processes.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
