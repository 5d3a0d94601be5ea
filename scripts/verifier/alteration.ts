/**
 * Where a log that was written anew, with every checksum and hash made to fit, parts from what somebody holds about it. A chain
 * head stands for all events up to it: one that is as it was says so of all of them, one that is not that one of them is another.
 */
import type { Moment } from './replay.js';

/** The first event that is not what it was is one of these. */
export interface Alteration {
  readonly firstSequence: bigint;
  readonly lastSequence: bigint;
  /** At the last of them, or at the event behind it. */
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
  add(sequence: bigint, claimed: string, found: Buffer, seenAt: Moment): void {
    this.#sightings.push({ sequence, holds: claimed === found.toString('hex'), seenAt });
  }

  /** Undefined where every chain head is as it was. */
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
