/** The age of a follower's state, bounded by the times of its questions to the owner. */

/** Largest number of answers of the owner that are kept. A follower that is further behind is not fresh anyway. */
const ANSWERS_MAX = 32;

/**
 * Bounds the age of a follower's state. Its owner reports its head now and then. A state with everything up to that
 * head is at most as old as the question, by the follower's clock alone.
 */
export class Freshness {
  /** Answers that the follower has not caught up with, oldest first. */
  readonly #answers: { readonly askedMs: number; readonly sequence: number }[] = [];
  #asOfMs = Number.NEGATIVE_INFINITY;
  #ownerSequence = 0;
  #committed = 0;

  /**
   * Records that the owner, asked at `askedMs`, has `sequence`. Returns true if events of an earlier answer are still
   * missing.
   */
  answered(askedMs: number, sequence: number, applied: number): boolean {
    this.applied(applied);
    const isBehind = this.#answers.length > 0;
    this.#ownerSequence = sequence;
    this.committed(sequence);
    if (this.#answers.length === ANSWERS_MAX) this.#answers.shift();
    this.#answers.push({ askedMs, sequence });
    this.applied(applied);
    return isBehind;
  }

  /** Records that the state has all events up to `sequence`. */
  applied(sequence: number): void {
    while (this.#answers.length > 0 && this.#answers[0]!.sequence <= sequence)
      this.#asOfMs = this.#answers.shift()!.askedMs;
  }

  /** Records that an owner has committed `sequence` events. */
  committed(sequence: number): void {
    this.#committed = Math.max(this.#committed, sequence);
  }

  /**
   * Whether an owner is known to have the first `sequence` events. The log may have more events than the owner knows. A
   * search at the owner would not find their records.
   */
  hasOwner(sequence: number): boolean {
    return sequence <= this.#committed;
  }

  /** The state is not older than this moment of the monotonic clock. */
  get asOfMs(): number {
    return this.#asOfMs;
  }

  /** Number of events that the owner had when last asked and that are missing here. */
  lag(applied: number): number {
    return Math.max(this.#ownerSequence - applied, 0);
  }
}
