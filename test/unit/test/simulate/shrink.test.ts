/** The shrinking of a failing cluster, with hand-made runs. */
import { expect } from 'chai';
import type { RunOrder } from '../../../simulate/child.js';
import type { ChildResult } from '../../../simulate/children.js';
import { shrink } from '../../../simulate/shrink.js';

const PLANNED = 12;
const EVERY_MS = 5_000;
const DURATION_MS = 60_000;

/** Runs that fail alike if all `needed` faults are carried out, and differently if only some are. */
const failingWith = (needed: readonly number[]) => {
  const orders: RunOrder[] = [];
  const run = async (order: RunOrder): Promise<ChildResult> => {
    orders.push(order);
    const all = Array.from({ length: PLANNED }, (_, number) => ({ number, atMs: number * EVERY_MS }));
    const done = all.filter(({ number, atMs }) => !order.without?.includes(number) && atMs < order.durationMs);
    const isThere = (number: number): boolean => done.some((fault) => fault.number === number);
    const failures = needed.every(isThere)
      ? ['lost write (c1): a write is not in the log']
      : needed.some(isThere)
        ? ['stale read (c1): an answer is too old']
        : [];
    return { seed: order.seed, planned: PLANNED, done, failures } as unknown as ChildResult;
  };
  return { orders, run };
};

const quiet = (): void => undefined;

describe('the shrinking of a failing cluster', () => {
  it('keeps the faults that the failure needs, and the seconds until the last one', async () => {
    const { run } = failingWith([2, 7]);
    const { order, result, faults } = await shrink({ seed: 5, durationMs: DURATION_MS }, run, quiet);
    expect(faults).to.deep.equal([2, 7]);
    expect(order).to.include({ seed: 5, durationMs: 7 * EVERY_MS + 1_000 });
    expect(result.failures).to.deep.equal(['lost write (c1): a write is not in the log']);
    expect(await run(order)).to.deep.equal(result);
  });

  it('keeps no fault if the cluster fails without any', async () => {
    const { run } = failingWith([]);
    const { faults } = await shrink({ seed: 5, durationMs: DURATION_MS }, run, quiet);
    expect(faults).to.deep.equal([]);
  });

  it('continues from the faults that were left out before', async () => {
    const { orders, run } = failingWith([7]);
    const { faults } = await shrink({ seed: 5, durationMs: DURATION_MS, without: [0, 1] }, run, quiet);
    expect(faults).to.deep.equal([7]);
    expect(orders.every(({ without }) => without?.includes(0) && without.includes(1))).to.equal(true);
  });

  it('fails for a seed whose cluster does not fail', async () => {
    const { run } = failingWith([99]);
    let refusal = '';
    await shrink({ seed: 5, durationMs: DURATION_MS }, run, quiet).catch((error: Error) => {
      refusal = error.message;
    });
    expect(refusal).to.equal('the cluster of seed 5 does not fail');
  });
});
