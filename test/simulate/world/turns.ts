import { setCostMin } from '../../../shard/kernel/scanThreads.js';
import { noteWork } from '../../../shared/scheduling/currentWork.js';
import { FairTurns } from '../../../shared/scheduling/fairTurns.js';
import { setTurns } from '../../../shared/scheduling/slice.js';
import type { Party } from './party.js';
import { currentWorld } from './world.js';

const turns = new WeakMap<Party, FairTurns>();
const outside = new FairTurns();

/**
 * Gives each simulated process and thread its own turns: otherwise work behind a turn of an ended process would never
 * begin.
 */
setTurns(() => {
  const party = currentWorld()?.party;
  if (party === undefined) return outside;
  const own = turns.get(party) ?? new FairTurns();
  turns.set(party, own);
  return own;
});

// Threads get every scan and every search of an index.
setCostMin(0);

/** Clears the noted work, which belongs to another world. */
export const forgetWork = (): void => noteWork('');
