/** What owns timers and work in a simulated world: a process, a thread of one, a server, or the world itself. */

/** What a thread of a process sees of itself. */
export interface ThreadContext {
  readonly port: unknown;
  readonly data: unknown;
}

export class Party {
  alive = true;
  /** It runs nothing before this time of the world. */
  pausedUntilMs = 0;
  /** The wall clock is ahead by this. */
  aheadMs = 0;
  /** Both clocks run faster by this share, since a moment of the world at which they showed `#shownMs`. */
  #driftShare = 0;
  #sinceMs = 0;
  #shownMs = 0;
  /** Immediates run in the order in which they were asked for. */
  lastImmediateMs = 0;
  thread: ThreadContext | undefined;
  readonly children: Party[] = [];
  /** Called with an error that nothing has caught; the party has ended by then. */
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

  /** The process that this party is, or is a thread of. */
  get process(): Party {
    return this.parent?.process ?? this;
  }

  get pid(): number {
    return FIRST_PID + this.process.number;
  }

  /** What its steady clock shows at that moment of the world. */
  clockMs(worldMs: number): number {
    return this.#shownMs + (worldMs - this.#sinceMs) * (1 + this.#driftShare);
  }

  /** From that moment of the world on both clocks run faster by this share. */
  drift(worldMs: number, share: number): void {
    this.#shownMs = this.clockMs(worldMs);
    this.#sinceMs = worldMs;
    this.#driftShare = share;
  }

  /** Calls `listener` when the party ends, in whatever way. */
  onEnd(listener: () => void): void {
    this.#onEnd.push(listener);
  }

  /** Ends the party and its threads at once: nothing of it runs any more. */
  end(): void {
    if (!this.alive) return;
    this.alive = false;
    for (const child of this.children) child.end();
    for (const listener of this.#onEnd) listener();
  }
}

const FIRST_PID = 100_000;
