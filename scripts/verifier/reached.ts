/** How far a log has reached, as its service has noted it outside of the log: what it lost behind that verifies as well. */
import { hexOf, type JsonObject, wholeOf } from './json.js';
import type { LogReport } from './log.js';
import type { Moment } from './replay.js';

const HASH_BYTES = 32;

export interface Reached {
  readonly sequence: bigint;
  readonly chainHead: Buffer;
}

export const reachedIn = (value: JsonObject): Reached => ({
  sequence: wholeOf(value, 'sequence'),
  chainHead: hexOf(value, 'chain_head', HASH_BYTES),
});

/** To be called before the log is replayed with these watches: what it returns says afterwards what is wrong, if anything. */
export function watchReached(
  { sequence, chainHead }: Reached,
  watches: Map<bigint, ((moment: Moment) => void)[]>,
): (report: LogReport) => string | undefined {
  let found: Buffer | undefined;
  const watch = ({ after }: Moment): void => {
    found = after.chainHead;
  };
  watches.set(sequence, [...(watches.get(sequence) ?? []), watch]);
  return ({ size }) => {
    if (found?.equals(chainHead)) return undefined;
    if (found !== undefined) return `its event ${sequence}, or one before, is another than was committed`;
    const end = size === 0n ? 'its log is gone: it is empty' : `its log ends with event ${size - 1n}`;
    return `${end}, but event ${sequence} was committed`;
  };
}
