/**
 * How old a follower's state may be. Its owner says now and then how far it is; what it says holds from the moment on at
 * which it was asked, by the clock of who asked, so no two clocks are compared. A state with all of that applied is
 * therefore no older than the question.
 */
interface Told {
  readonly askedMs: number;
  readonly sequence: number;
}

/** Answers that wait to be caught up with; a follower that is further behind is not fresh anyway. */
const TOLD_MAX = 32;

export class Freshness {
  /** Not caught up with yet, oldest first. */
  readonly #told: Told[] = [];
  #asOfMs = Number.NEGATIVE_INFINITY;
  #ownerSequence = 0;

  /** The owner, asked at `askedMs`, has `sequence`. True where it has told of something before that is missing still. */
  told(askedMs: number, sequence: number, applied: number): boolean {
    this.applied(applied);
    const isBehind = this.#told.length > 0;
    this.#ownerSequence = sequence;
    if (this.#told.length === TOLD_MAX) this.#told.shift();
    this.#told.push({ askedMs, sequence });
    this.applied(applied);
    return isBehind;
  }

  /** The state has all events up to `sequence`. */
  applied(sequence: number): void {
    while (this.#told.length > 0 && this.#told[0]!.sequence <= sequence) this.#asOfMs = this.#told.shift()!.askedMs;
  }

  /** The state is at least as new as at that moment of the monotonic clock. */
  get asOfMs(): number {
    return this.#asOfMs;
  }

  /** Events that the owner had when it was last asked, and that are missing here. */
  lag(applied: number): number {
    return Math.max(this.#ownerSequence - applied, 0);
  }
}
