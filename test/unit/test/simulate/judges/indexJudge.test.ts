/** The judge of indexed searches in a simulated world. */
import { expect } from 'chai';
import { Generation } from '../../../../../shard/index/generation.js';
import type { Index } from '../../../../../shard/index/kind.js';
import { Rows } from '../../../../../shard/index/rows.js';
import { SlotSet } from '../../../../../shard/kernel/slotSet.js';
import { VectorBlocks } from '../../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../../shard/kernel/vectorMemory.js';
import { Findings } from '../../../../simulate/judges/findings.js';
import { judgeIndexes } from '../../../../simulate/judges/indexJudge.js';
import { World } from '../../../../simulate/world/world.js';

const COVERED = 40;
const QUERY = Int32Array.of(1, 1);
const FAR = 100;

/** Findings after a search for the nearest two that reads `slots`, while one uncovered row lies at `tail`. */
async function foundBy(
  tail: number,
  slots: readonly number[],
  work: (vectors: VectorBlocks) => void = () => undefined,
) {
  const world = new World(1);
  const findings = new Findings(world);
  judgeIndexes(findings);
  await world.run(() =>
    world.outside(async () => {
      const vectors = new VectorBlocks(new VectorMemory(), QUERY.length);
      const rows = new Rows(new SlotSet(vectors.shape));
      for (let id = 1; id <= COVERED; id++) rows.add(id, insert(vectors, id, FAR + id));
      insert(vectors, COVERED + 1, tail);
      // The index returns all that it covers; the search of the tail is scripted.
      const index = { cost: () => 0, candidates: async () => Uint32Array.from(rows.covered) } as unknown as Index;
      const generation = new Generation({
        ...{ number: 1, kind: 'hnsw', parameters: {} as never, trainedRows: COVERED, savedRows: 0 },
        ...{ vectors, rows, index, refused: new SlotSet(vectors.shape) },
      });
      const { rank } = vectors;
      vectors.search = async (query, k, pause) =>
        rank.call(vectors, query, k, { slots: Uint32Array.from(slots) }, pause);
      const answer = generation.search(QUERY, 2, undefined);
      work(vectors);
      await answer;
    }),
  );
  return findings.all;
}

function insert(vectors: VectorBlocks, id: number, component: number): number {
  const slot = vectors.acquire();
  vectors.write(slot, id, new Uint8Array(Int32Array.of(component, component).buffer));
  vectors.publish(slot);
  return slot;
}

describe('the judge of indexes', () => {
  const MISSED = `a judge found: a search at world misses record ${COVERED + 1}, which its index of kind hnsw does not cover`;

  it('reports a near uncovered row that no search read', async () => {
    expect(await foundBy(2, [])).to.deep.equal([MISSED, MISSED]);
  });

  it('searches for far uncovered rows itself', async () => {
    expect(await foundBy(2 * FAR, [])).to.deep.equal([MISSED]);
  });

  it('reports nothing if uncovered rows are read', async () => {
    expect(await foundBy(2, [COVERED])).to.deep.equal([]);
    expect(await foundBy(2 * FAR, [COVERED])).to.deep.equal([]);
  });

  it('reports nothing if the uncovered row is released during the search', async () => {
    expect(await foundBy(2, [], (vectors) => vectors.release(COVERED))).to.deep.equal([]);
  });
});
