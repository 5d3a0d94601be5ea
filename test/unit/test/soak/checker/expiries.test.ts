/** The check of expiries on hand-made logs: right ones, and one with each fault. */
import { expect } from 'chai';
import type { LogEvent } from '../../../../../verifier/events.js';
import { ExpiryCheck } from '../../../../soak/checker/expiries.js';

type Given = readonly [what: 'insert' | 'delete' | 'expire', timeMs: number, recordId: number, expiresAtMs?: number];

/** The first fault of a log of these events. */
function faultOf(...events: readonly Given[]): string | undefined {
  const check = new ExpiryCheck();
  for (const [i, [what, timeMs, recordId, expiresAtMs]] of events.entries()) {
    const dated = { sequence: BigInt(i + 1), timeMs: BigInt(timeMs), recordId: BigInt(recordId) };
    const expiry = { expiresAtMs: expiresAtMs === undefined ? null : BigInt(expiresAtMs) };
    const event = { ...dated, ...expiry, type: what === 'insert' ? 'insert' : 'delete' };
    check.next(event as unknown as LogEvent, what === 'expire');
  }
  return check.fault;
}

describe('the check of expiries', () => {
  it('accepts removals at the expiry, before any other event of that time', () => {
    expect(faultOf(['insert', 10, 1, 50], ['expire', 50, 1], ['insert', 50, 2])).to.equal(undefined);
    expect(faultOf(['insert', 10, 1, 50], ['insert', 20, 2, 50], ['expire', 50, 1], ['expire', 50, 2])).to.equal(
      undefined,
    );
    expect(faultOf(['insert', 10, 1, 50], ['delete', 49, 1], ['insert', 60, 2])).to.equal(undefined);
  });

  it('finds an event that a removal should precede', () => {
    expect(faultOf(['insert', 10, 1, 50], ['insert', 50, 2])).to.contain('precedes the removal of record 1');
    expect(faultOf(['insert', 10, 1, 50], ['insert', 60, 2], ['expire', 60, 1])).to.contain('precedes the removal');
  });

  it('finds a removal of a record that does not expire then', () => {
    expect(faultOf(['insert', 10, 1, 50], ['expire', 49, 1])).to.contain('removes record 1, which expires at 50');
    expect(faultOf(['insert', 10, 1], ['expire', 49, 1])).to.contain('removes record 1, which expires never');
  });
});
