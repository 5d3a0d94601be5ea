import type { OpeningNotes } from '../../../shard/opening/openingNotes.js';
import { Openings } from '../../../shard/opening/openings.js';
import { systemClock } from '../../../shared/clock.js';

type Notes = Pick<OpeningNotes, 'isSuspect' | 'quarantineOf' | 'begin' | 'step' | 'end' | 'opened'>;

/** Openings of collections that have never failed, unless `notes` say otherwise. */
export const trustingOpenings = (notes: Partial<Notes> = {}, lease = { valid: true, lapses: 0 }): Openings =>
  new Openings(
    {
      isSuspect: async () => false,
      quarantineOf: () => undefined,
      begin: async () => undefined,
      step: () => undefined,
      end: () => undefined,
      opened: async () => undefined,
      ...notes,
    },
    lease,
    systemClock,
  );
