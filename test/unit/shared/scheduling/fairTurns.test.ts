// Covers: shared/scheduling/currentWork.ts, shared/scheduling/slice.ts
import assert from 'node:assert/strict';
import { systemClock } from '../../../../shared/clock.js';
import { noteWork } from '../../../../shared/scheduling/currentWork.js';
import { FairTurns } from '../../../../shared/scheduling/fairTurns.js';
import { nextTurn, Slice, sliceTurns } from '../../../../shared/scheduling/slice.js';

describe('FairTurns', () => {
  /** Takes `slices` turns and calls `note` in each. */
  async function work(turns: FairTurns, project: string, slices: number, note: () => void): Promise<void> {
    for (let i = 0; i < slices; i++) {
      await turns.next(project);
      note();
    }
  }

  /** Projects of the slices that began in each turn of the event loop. */
  async function slicesByTurn(works: readonly (readonly [project: string, slices: number])[]): Promise<string[][]> {
    const turns = new FairTurns();
    const begun: string[][] = [];
    let left = works.length;
    const all = works.map(([project, slices]) =>
      work(turns, project, slices, () => begun.at(-1)?.push(project)).finally(() => left--),
    );
    while (left > 0) {
      begun.push([]);
      await nextTurn();
    }
    await Promise.all(all);
    return begun.filter(({ length }) => length > 0);
  }

  it('begins one slice in each turn of the event loop', async () => {
    const begun = await slicesByTurn(Array.from({ length: 50 }, () => ['a', 2] as const));
    assert.equal(begun.length, 100);
  });

  it('gives a project every second turn, however much work another has waiting', async () => {
    const begun = await slicesByTurn([...Array.from({ length: 50 }, () => ['a', 2] as const), ['b', 2]]);
    assert.deepEqual(begun.slice(0, 4).flat(), ['a', 'b', 'a', 'b']);
  });

  it('leaves two turns to other work that has begun', async () => {
    const turns = new FairTurns();
    let isBegun = false;
    const begun = work(turns, 'a', 1, () => {
      isBegun = true;
    });
    noteWork('search');
    for (let turn = 0; turn < 2; turn++) {
      await nextTurn();
      assert.equal(isBegun, false);
    }
    await begun;
  });

  it('begins a slice in one of five turns, however much other work begins', async () => {
    const turns = new FairTurns();
    let slices = 0;
    const all = work(turns, 'a', 10, () => slices++);
    for (let turn = 0; turn < 60; turn++) {
      noteWork('search');
      await nextTurn();
    }
    assert.equal(slices, 10);
    await all;
  });

  it('orders the slices of all work in a thread', async () => {
    const order: string[] = [];
    const slice = (project: string): Promise<void> =>
      new Slice(systemClock, undefined, { op: 'search', subject: { project } })
        .next()
        .then(() => void order.push(project));
    await Promise.all([slice('a'), slice('a'), slice('b')]);
    assert.deepEqual(order, ['a', 'b', 'a']);
  });

  it('orders the pauses of scans and frames among these slices', async () => {
    const order: string[] = [];
    const pause = (project: string): Promise<void> =>
      sliceTurns({ op: 'search', subject: { project } })().then(() => void order.push(project));
    const slice = new Slice(systemClock, undefined, { op: 'facets', subject: { project: 'b' } });
    await Promise.all([pause('a'), pause('a'), slice.next().then(() => void order.push('b'))]);
    assert.deepEqual(order, ['a', 'b', 'a']);
  });
});
