/** The judge of vector memory in a simulated world. */
import { expect } from 'chai';
import { VectorBlocks } from '../../../../../shard/kernel/vectorBlocks.js';
import { allocateScratch, freeScratch, VectorMemory } from '../../../../../shard/kernel/vectorMemory.js';
import { Findings } from '../../../../simulate/judges/findings.js';
import { judgeMemory } from '../../../../simulate/judges/memoryJudge.js';
import { World } from '../../../../simulate/world/world.js';

const DIMENSION = 4;
const ROWS = 8;
const VECTOR_BYTES = 4 * DIMENSION;

/** Findings after `work` on rows that are all live. */
async function foundBy(work: (vectors: VectorBlocks, memory: VectorMemory) => unknown): Promise<readonly string[]> {
  const world = new World(1);
  const findings = new Findings(world);
  judgeMemory(findings);
  await world.run(() =>
    world.outside(async () => {
      const memory = new VectorMemory();
      const vectors = new VectorBlocks(memory, DIMENSION);
      for (let id = 1; id <= ROWS; id++) insert(vectors, id);
      await work(vectors, memory);
    }),
  );
  return findings.all;
}

function insert(vectors: VectorBlocks, id: number): void {
  const slot = vectors.acquire();
  vectors.write(slot, id, new Uint8Array(VECTOR_BYTES).fill(id));
  vectors.publish(slot);
}

describe('the judge of memory', () => {
  it('reports nothing if slots and blocks are freed after the scans that may read them', async () => {
    const found = await foundBy((vectors) => {
      const scan = vectors.beginScan();
      vectors.release(2);
      const later = vectors.beginScan();
      vectors.endScan(scan);
      insert(vectors, ROWS + 1);
      vectors.release(3);
      vectors.destroy();
      vectors.endScan(later);
    });
    expect(found).to.deep.equal([]);
  });

  it('reports a row that is erased under a scan', async () => {
    const found = await foundBy((vectors) => {
      vectors.beginScan();
      vectors.blocks[0]!.erase(2);
    });
    expect(found).to.deep.equal(['a judge found: world changes the row of record 3, which a scan may read']);
  });

  it('reports a block that is freed under a scan', async () => {
    const found = await foundBy((vectors, memory) => {
      vectors.beginScan();
      memory.freeBlock(vectors.blocks[0]!.region);
    });
    expect(found).to.deep.equal(['a judge found: world frees rows that a scan may read']);
  });

  it('reports memory that is freed twice, and poisons freed memory', async () => {
    const found = await foundBy((vectors) => {
      const scratch = allocateScratch(vectors.blocks[0]!.region.arena, 128);
      freeScratch(scratch);
      expect(new Uint8Array(scratch.arena.buffer, scratch.address, 128).every((byte) => byte === 0x7f)).to.equal(true);
      freeScratch(scratch);
    });
    expect(found).to.have.length(1);
    expect(found[0]).to.contain('that is not in use');
  });
});
