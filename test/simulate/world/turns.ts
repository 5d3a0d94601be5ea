import { setCostMin } from '../../../shard/kernel/scanThreads.js';
import { setAccessDay } from '../../../shared/model/accessDay.js';
import { noteWork } from '../../../shared/scheduling/currentWork.js';
import { FairTurns } from '../../../shared/scheduling/fairTurns.js';
import { setTurns } from '../../../shared/scheduling/slice.js';
import { SIMULATED_DAY_MS } from './accessDay.js';
import type { Party } from './party.js';
import { currentWorld } from './world.js';

const turns = new WeakMap<Party, FairTurns>();
const outside = new FairTurns();

/**
 * Gives each simulated process and thread its own queue of turns. In a common queue, work would wait forever behind a
 * turn of an ended process.
 */
setTurns(() => {
  const party = currentWorld()?.party;
  if (party === undefined) return outside;
  const own = turns.get(party) ?? new FairTurns();
  turns.set(party, own);
  return own;
});

// A run takes minutes, and must see entries removed.
setAccessDay(SIMULATED_DAY_MS);

// Hand every scan, and every search of an index, to threads.
setCostMin(0);

/** Notes no work, so that the next world does not begin with work of this one. */
export const forgetWork = (): void => noteWork('');
