/** Faults that wait for a message to be stored. */
import type { Party } from '../world/party.js';
import type { Stream } from './stream.js';

export interface Interruption {
  isOf(stream: Stream, from: Party): boolean;
  /** Called while the message is on its way between the servers. */
  begin(stream: Stream, from: Party): void;
  readonly losesAcknowledgement?: boolean;
}

/** Pending interruptions, one of each kind; each ends with its message. */
export class Interruptions {
  readonly #waiting = new Map<string, Interruption>();

  set(kind: string, interruption: Interruption): void {
    this.#waiting.set(kind, interruption);
  }

  clear(): void {
    this.#waiting.clear();
  }

  /** Takes the interruption for a message from this party to this stream. */
  take(stream: Stream, from: Party): Interruption | undefined {
    for (const [kind, interruption] of this.#waiting) {
      if (!interruption.isOf(stream, from)) continue;
      this.#waiting.delete(kind);
      return interruption;
    }
    return undefined;
  }
}
