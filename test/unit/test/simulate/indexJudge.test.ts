/** What is judged of searches over indexes in a world. */
import { expect } from 'chai';
import { Generation } from '../../../../shard/index/generation.js';
import type { Index } from '../../../../shard/index/kind.js';
import { Rows } from '../../../../shard/index/rows.js';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { Findings } from '../../../simulate/judges/findings.js';
import { judgeIndexes } from '../../../simulate/judges/indexJudge.js';
import { World } from '../../../simulate/world/world.js';

const COVERED = 40;
const QUERY = Int32Array.of(1, 1);
const FAR = 100;

/** What is found when a search for the nearest two is answered with `slots`, while one row that is not covered lies at `tail`. */
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
      // The index answers with all that it has; what is searched beside it comes to nothing.
      const index = { cost: () => 0, candidates: async () => Uint32Array.from(rows.covered) } as unknown as Index;
      const generation = new Generation({
        ...{ number: 1, kind: 'hnsw', parameters: {} as never, trainedRows: COVERED, savedRows: 0 },
        ...{ vectors, rows, index, refused: new SlotSet(vectors.shape) },
      });
      const { rank } = vectors;
      vectors.search = async (...args) => rank.call(vectors, args[0], args[1], Uint32Array.from(slots), args[2]);
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
  const MISSED = `judged wrong: world searches an index of kind hnsw and misses record ${COVERED + 1}, which it does not cover`;

  it('finds that a near row was not looked at which is not covered', async () => {
    expect(await foundBy(2, [])).to.deep.equal([MISSED, MISSED]);
  });

  it('asks for such a row itself, where others ask for what is elsewhere', async () => {
    expect(await foundBy(2 * FAR, [])).to.deep.equal([MISSED]);
  });

  it('finds nothing where such rows are looked at', async () => {
    expect(await foundBy(2, [COVERED])).to.deep.equal([]);
    expect(await foundBy(2 * FAR, [COVERED])).to.deep.equal([]);
  });

  it('finds nothing where the row dies meanwhile', async () => {
    expect(await foundBy(2, [], (vectors) => vectors.release(COVERED))).to.deep.equal([]);
  });
});
