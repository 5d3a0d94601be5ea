/** Frames: accepted only if written, and only after the frame that they were written after. */

import { Malformed } from '../../../shared/errors/malformed.js';
import { EMPTY_LOG, type LogEnd } from '../../../shared/log/chain.js';
import { buildFrame, claimedStart, verifyFrame } from '../../../shared/log/frame.js';
import type { FuzzTarget } from '../target.js';
import { everyEvent } from './samples.js';

const atOnce = async (): Promise<void> => undefined;

async function isTaken(input: Uint8Array, before: LogEnd): Promise<boolean> {
  try {
    await verifyFrame(input, before, atOnce);
    return true;
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}

export const frames: FuzzTarget = {
  name: 'frames',
  open: async (random) => {
    const [genesis, ...rest] = everyEvent(random);
    const first = await buildFrame([genesis!, ...rest.slice(0, 2)], EMPTY_LOG, 2, atOnce);
    const second = await buildFrame(rest.slice(2), first.end, 1, atOnce);
    const places = [
      { frame: first.bytes, before: EMPTY_LOG },
      { frame: second.bytes, before: first.end },
    ];
    return {
      samples: places.map(({ frame }) => frame),
      tryOne: async (input) => {
        for (const { frame, before } of places) {
          if (!(await isTaken(input, before))) continue;
          if (Buffer.compare(input, frame) !== 0) throw new Error('an altered frame is accepted');
          return 'taken';
        }
        // A frame read out of order is checked against its own claims. Its checksum must still match.
        let claimed: LogEnd;
        try {
          claimed = claimedStart(input);
        } catch (error) {
          if (error instanceof Malformed) return 'refused';
          throw error;
        }
        if (await isTaken(input, claimed)) throw new Error('an altered frame is accepted');
        return 'refused';
      },
      close: async () => undefined,
    };
  },
};
