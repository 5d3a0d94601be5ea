/**
 * Runs a process of a simulated cluster, and does the work of its supervisor.
 *
 * ```text
 * start() ──▶ starting ──▶ running ──kill(), stop(), a crash──▶ ended ──a little later──▶ starting …
 * ```
 */
import { messageOf } from '../../../shared/errors/errors.js';
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';

const RESTART_MS = 500;
/** Longest orderly stop; after it the process is killed. */
const STOP_MS = 60_000;

export class SimulatedProcess {
  readonly crashes: string[] = [];
  party: Party | undefined;
  #stop: (() => Promise<void>) | undefined;
  #startedMs = 0;
  /** Whether a fault has ended it: only that fault, or `start()`, restarts it. */
  #isDownByFault = false;

  constructor(
    private readonly world: World,
    readonly name: string,
    private readonly begin: (party: Party) => Promise<() => Promise<void>>,
  ) {}

  get isRunning(): boolean {
    return this.#stop !== undefined && this.party?.alive === true;
  }

  /** How long it has run, in simulated milliseconds. */
  get ageMs(): number {
    return this.isRunning ? this.world.nowMs - this.#startedMs : 0;
  }

  start(): void {
    if (this.party?.alive === true) return;
    this.#isDownByFault = false;
    const party = this.world.addParty(this.name, this.name);
    this.party = party;
    party.onFailure = (error) => this.#crashed(error);
    this.world.at(party, 0, 'start', () => {
      this.begin(party).then(
        (stop) => {
          this.#stop = stop;
          this.#startedMs = this.world.nowMs;
        },
        (error: unknown) => {
          this.world.note(`the start failed: ${messageOf(error)}`);
          this.#end(party);
          this.#startLater(RESTART_MS);
        },
      );
    });
  }

  /** Ends at once, and starts again after `downMs`. */
  kill(downMs: number): void {
    if (this.party !== undefined) this.#end(this.party);
    this.#isDownByFault = true;
    this.#startLater(downMs, true);
  }

  /** Ends in order, and starts again after `downMs`. */
  stop(downMs: number): void {
    const { party } = this;
    const stop = this.#stop;
    if (party === undefined || stop === undefined || !party.alive) return;
    this.#stop = undefined;
    this.#isDownByFault = true;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.#end(party);
      this.#startLater(downMs, true);
    };
    this.world.at(party, 0, 'stop', () => void stop().then(end, end));
    this.world.at(this.world.root, STOP_MS, 'stop at last', end);
  }

  /** The process exits by itself, as it does when another runs under its name. */
  ends(party: Party, exitCode: number): void {
    if (!party.alive) return;
    this.world.note(`ends with ${exitCode}`, this.name);
    this.#end(party);
    this.#startLater(RESTART_MS);
  }

  /** Ends a pause, and starts the process if it does not run. */
  wake(): void {
    if (this.party !== undefined) this.party.pausedUntilMs = 0;
    if (this.party?.alive !== true) this.start();
  }

  #crashed(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.world.note(`crashed: ${messageOf(error)}`, this.name);
    this.crashes.push(`${this.name}: ${text}`);
    this.#stop = undefined;
    this.#startLater(RESTART_MS);
  }

  #end(party: Party): void {
    this.#stop = undefined;
    party.end();
  }

  #startLater(delayMs: number, isOwn = false): void {
    this.world.at(this.world.root, delayMs, 'restart', () => {
      if (!this.#isDownByFault || isOwn) this.start();
    });
  }
}
