/**
 * The place at which a log that was rewritten, with every checksum and hash made to fit, departs from claims about it. A chain
 * head stands for all events up to it: if it is the same, so are they all; if it differs, one of them was altered.
 */
import { toHex } from './bytes.js';
import type { Moment } from './replay.js';

/** A range that holds the first altered event. */
export interface Alteration {
  readonly firstSequence: bigint;
  readonly lastSequence: bigint;
  /** The moment at the last of them, or at the next event. */
  readonly seenAt: Moment;
}

interface Sighting {
  /** The last event that the chain head stands for. */
  readonly sequence: bigint;
  readonly holds: boolean;
  readonly seenAt: Moment;
}

export class Sightings {
  readonly #sightings: Sighting[] = [];

  /** The chain head after event `sequence`, as the log has it now. */
  add(sequence: bigint, claimed: string, found: Uint8Array, seenAt: Moment): void {
    this.#sightings.push({ sequence, holds: claimed === toHex(found), seenAt });
  }

  /** Undefined if every chain head is the same as before. */
  alteration(): Alteration | undefined {
    const [bad] = this.#sightings.filter(({ holds }) => !holds).sort(bySequence);
    if (bad === undefined) return undefined;
    const good = this.#sightings.filter(({ sequence, holds }) => holds && sequence < bad.sequence).sort(bySequence);
    const firstSequence = (good.at(-1)?.sequence ?? -1n) + 1n;
    return { firstSequence, lastSequence: bad.sequence, seenAt: bad.seenAt };
  }
}

/** Of one event the sighting at it comes first: it tells the place. */
const bySequence = (a: Sighting, b: Sighting): number =>
  Number(a.sequence - b.sequence) || Number(a.seenAt.event.sequence - b.seenAt.event.sequence);
