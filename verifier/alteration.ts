/**
 * Finds where a log that was rewritten, with matching checksums and hashes, departs from claims about it. A chain head covers all
 * events up to it. If it is unchanged, so are all of them; if it differs, one of them was altered.
 */
import { toHex } from './bytes.js';
import type { Moment } from './replay.js';

/** A range that contains the first altered event. */
export interface Alteration {
  readonly firstSequence: bigint;
  readonly lastSequence: bigint;
  /** The moment at the last event of the range, or at the next event. */
  readonly seenAt: Moment;
}

interface Sighting {
  /** The last event that the chain head covers. */
  readonly sequence: bigint;
  readonly holds: boolean;
  readonly seenAt: Moment;
}

export class Sightings {
  readonly #sightings: Sighting[] = [];

  /** `found`: the log's present chain head after event `sequence`. */
  add(sequence: bigint, claimed: string, found: Uint8Array, seenAt: Moment): void {
    this.#sightings.push({ sequence, holds: claimed === toHex(found), seenAt });
  }

  /** Undefined if every chain head is unchanged. */
  alteration(): Alteration | undefined {
    const [bad] = this.#sightings.filter(({ holds }) => !holds).sort(bySequence);
    if (bad === undefined) return undefined;
    const good = this.#sightings.filter(({ sequence, holds }) => holds && sequence < bad.sequence).sort(bySequence);
    const firstSequence = (good.at(-1)?.sequence ?? -1n) + 1n;
    return { firstSequence, lastSequence: bad.sequence, seenAt: bad.seenAt };
  }
}

/** Orders by event. The sighting at the event itself comes first, since it gives the place. */
const bySequence = (a: Sighting, b: Sighting): number =>
  Number(a.sequence - b.sequence) || Number(a.seenAt.event.sequence - b.seenAt.event.sequence);
