/** Event bytes: refused, or an event that encodes to exactly these bytes. */

import { Malformed } from '../../../shared/errors/malformed.js';
import { decodeEvent, encodeEvent } from '../../../shared/log/eventCodec.js';
import { EVENT_VERSION } from '../../../shared/log/eventLayout.js';
import { SYSTEM } from '../../../shared/model/actor.js';
import type { FuzzTarget } from '../target.js';
import { everyEvent } from './samples.js';

export const events: FuzzTarget = {
  name: 'events',
  open: async (random) => ({
    samples: everyEvent(random).map((event) => encodeEvent(event)),
    tryOne: (input) => {
      let event: ReturnType<typeof decodeEvent>;
      try {
        event = decodeEvent(input, input[0] === EVENT_VERSION ? SYSTEM : null);
      } catch (error) {
        if (error instanceof Malformed) return 'refused';
        throw error;
      }
      if (Buffer.compare(encodeEvent(event), input) !== 0) throw new Error('decoded to an event with another encoding');
      return 'taken';
    },
    close: async () => undefined,
  }),
};
