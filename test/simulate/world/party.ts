/** Owner of timers and work in a simulated world: a process, one of its threads, a server, or the world itself. */

/** A thread's own view. */
export interface ThreadContext {
  readonly port: unknown;
  readonly data: unknown;
}

export class Party {
  alive = true;
  /** It runs nothing before this time of the world. */
  pausedUntilMs = 0;
  /** Milliseconds by which its wall clock is ahead. */
  aheadMs = 0;
  /** Share by which both clocks run faster, since the moment of the world at which they showed `#shownMs`. */
  #driftShare = 0;
  #sinceMs = 0;
  #shownMs = 0;
  /** Time of the last immediate; they run in order of their calls. */
  lastImmediateMs = 0;
  thread: ThreadContext | undefined;
  readonly children: Party[] = [];
  /** Called with an error that nothing has caught; by then the party has ended. */
  onFailure: ((error: unknown) => void) | undefined;
  readonly #onEnd: (() => void)[] = [];

  constructor(
    readonly name: string,
    readonly number: number,
    /** The machine it runs on, which has a disk and an address. */
    readonly machine: string,
    readonly parent: Party | undefined,
  ) {
    parent?.children.push(this);
  }

  /** The process that this party is, or belongs to as a thread. */
  get process(): Party {
    return this.parent?.process ?? this;
  }

  get pid(): number {
    return FIRST_PID + this.process.number;
  }

  /** Its monotonic clock at that moment of the world. */
  clockMs(worldMs: number): number {
    return this.#shownMs + (worldMs - this.#sinceMs) * (1 + this.#driftShare);
  }

  /** Lets both clocks run faster by this share from that moment on. */
  drift(worldMs: number, share: number): void {
    this.#shownMs = this.clockMs(worldMs);
    this.#sinceMs = worldMs;
    this.#driftShare = share;
  }

  /** Calls `listener` when the party ends, for any reason. */
  onEnd(listener: () => void): void {
    this.#onEnd.push(listener);
  }

  /** Ends the party and its threads at once: none of their tasks runs any more. */
  end(): void {
    if (!this.alive) return;
    this.alive = false;
    for (const child of this.children) child.end();
    for (const listener of this.#onEnd) listener();
  }
}

const FIRST_PID = 100_000;
