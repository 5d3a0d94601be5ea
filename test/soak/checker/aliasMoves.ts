/**
 * The collections to which an alias may lead. A move takes effect at some moment between its start and its answer; without an
 * answer, at any later moment or never.
 */

/** A call that moves the alias to the collection `name`. */
export interface Move {
  readonly name: string;
  readonly startMs: number;
  /** Infinite without an answer. */
  readonly endMs: number;
  /** Whether its answer is "not found", since the collection was deleted: the alias may be there until the answer. */
  readonly isUndone: boolean;
}

export class AliasMoves {
  constructor(private readonly moves: readonly Move[]) {}

  /** Whether an answered move has ended by then. */
  isMovedBy(atMs: number): boolean {
    return this.moves.some((move) => !move.isUndone && move.endMs <= atMs);
  }

  /** Returns the moves to whose collections the alias may lead at some moment of a time. */
  possible(startMs: number, endMs: number): Move[] {
    const isReplaced = (move: Move): boolean =>
      move.isUndone
        ? move.endMs <= startMs
        : this.moves.some((later) => !later.isUndone && later.startMs >= move.endMs && later.endMs <= startMs);
    return this.moves.filter((move) => move.startMs < endMs && !isReplaced(move));
  }
}
