/** The watermark: the service's note of the last committed event, outside of the log. It shows a lost end, which the log itself cannot. */
import { equal } from './bytes.js';
import { hexOf, type JsonObject, wholeOf } from './json.js';
import type { LogReport } from './log.js';
import type { Moment } from './replay.js';

const HASH_BYTES = 32;

export interface Reached {
  readonly sequence: bigint;
  readonly chainHead: Uint8Array;
}

export const reachedIn = (value: JsonObject): Reached => ({
  sequence: wholeOf(value, 'sequence'),
  chainHead: hexOf(value, 'chain_head', HASH_BYTES),
});

/** Adds a watch. Call it before the replay; afterwards the returned function returns the problem, or undefined. */
export function watchReached(
  { sequence, chainHead }: Reached,
  watches: Map<bigint, ((moment: Moment) => void)[]>,
): (report: LogReport) => string | undefined {
  let found: Uint8Array | undefined;
  const watch = ({ after }: Moment): void => {
    found = after.chainHead;
  };
  watches.set(sequence, [...(watches.get(sequence) ?? []), watch]);
  return ({ size }) => {
    if (found && equal(found, chainHead)) return undefined;
    if (found !== undefined) return `its event ${sequence}, or one before, is not the committed one`;
    const end = size === 0n ? 'its log is gone: it is empty' : `its log ends with event ${size - 1n}`;
    return `${end}, but event ${sequence} was committed`;
  };
}
