/**
 * The marks of one watch. A caller stores a mark and waits here until the watch has received the mark, and everything that was
 * stored before it. A later mark ends the wait too: it may have replaced the one that the caller stored.
 *
 * A watch receives each key's last message only. So an entry stored before the mark may arrive as its replacement, behind the
 * mark. Therefore a mark counts once the messages have arrived that were pending when it did.
 */

/** A stored mark arrives within milliseconds. After this time the caller gives up, and the watch reads from another server. */
const MARK_WITHIN_MS = 2_000;

interface Wait {
  /** The place of the mark in the stream. */
  readonly sequence: number;
  readonly end: (hasArrived: boolean) => void;
}

export class NatsMarks {
  readonly #waits = new Set<Wait>();
  /** The newest mark that this delivery has brought and that does not count yet. `left`: messages until it counts. */
  #arrived: { readonly sequence: number; left: number } | undefined;
  /** Place of the newest mark that counts: the watch has reported everything stored before it. 0 without one. */
  #upTo = 0;

  /** A new delivery has begun, perhaps from another server. */
  begin(): void {
    this.#arrived = undefined;
    this.#upTo = 0;
  }

  /** Whether this mark or a later one counts in this delivery. */
  includes(sequence: number): boolean {
    return this.#upTo >= sequence;
  }

  /** Resolves to whether the mark, or a later one, arrives in time. */
  async until(sequence: number): Promise<boolean> {
    let end: (hasArrived: boolean) => void = () => undefined;
    const arrived = new Promise<boolean>((resolve) => {
      end = resolve;
    });
    const wait = { sequence, end };
    const timer = setTimeout(() => end(false), MARK_WITHIN_MS).unref();
    this.#waits.add(wait);
    try {
      return await arrived;
    } finally {
      clearTimeout(timer);
      this.#waits.delete(wait);
    }
  }

  /** The mark has arrived. `pending`: messages that the server has behind it. */
  arrived(sequence: number, pending: number): void {
    // `advance` counts the message of the mark too.
    this.#arrived = { sequence, left: pending + 1 };
  }

  /** Called after each message. `isLast`: the server has no more messages now. */
  advance(isLast: boolean): void {
    const arrived = this.#arrived;
    if (arrived === undefined || (--arrived.left > 0 && !isLast)) return;
    this.#arrived = undefined;
    this.#upTo = arrived.sequence;
    for (const { sequence, end } of this.#waits) if (sequence <= arrived.sequence) end(true);
  }

  /** Ends all waits: no mark arrives any more. */
  stop(): void {
    for (const { end } of this.#waits) end(false);
  }
}
