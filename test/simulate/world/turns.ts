import { noteWork } from '../../../shared/scheduling/currentWork.js';
import { FairTurns } from '../../../shared/scheduling/fairTurns.js';
import { setTurns } from '../../../shared/scheduling/slice.js';
import type { Party } from './party.js';
import { currentWorld } from './world.js';

const turns = new WeakMap<Party, FairTurns>();
const outside = new FairTurns();

/** Gives every simulated process and thread turns of its own: work that waited for a turn of an ended process would never begin. */
setTurns(() => {
  const party = currentWorld()?.party;
  if (party === undefined) return outside;
  const own = turns.get(party) ?? new FairTurns();
  turns.set(party, own);
  return own;
});

/** Ends the work that was noted last: it is of another world. */
export const forgetWork = (): void => noteWork('');
