// Covers: shard/kernel/collectionMemory.ts, shard/index/hnsw/segment.ts, shard/index/bq/bq.ts
// Covers: shard/index/ivf/listChunk.ts, shard/index/ivf/centroids.ts
/** Looks in the memory of each kind of index for what removed rows leave there, in a collection with records under keys. */
import { expect } from 'chai';
import type { Region } from '../../../../shard/kernel/vectorMemory.js';
import { INDEX_KINDS, type IndexKind } from '../../../../shared/model/indexSpec.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { eventually } from '../../../support/expectations.js';
import { bytesOf, type Vector } from '../../../support/model/indexVectors.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { IndexedRows } from '../../../support/rigs/indexedRows.js';
import { randomVector } from '../kernel/kernelOracle.js';

const DIMENSION = 64;
const ROWS = 1_200;
const BOUND = 2 ** 18;
/** Bytes of a code. A few of them are zeros by chance. */
const CODE_BYTES: Readonly<Record<IndexKind, number>> = { hnsw: DIMENSION, bq: DIMENSION / 8 + 8, ivf: DIMENSION };
const BY_CHANCE = 8;
/** Lists of an IVF index: long ones, since the codes in a list of two rows are zeros for the smaller components. */
const LISTS = 8;

/** Rows of a collection with records under keys, and the memory of their index. */
class ErasedRows extends IndexedRows {
  readonly #regions: Region[] = [];

  constructor(kind: IndexKind) {
    super({ kind, parameters: kind === 'ivf' ? { nList: LISTS } : {}, dimension: DIMENSION });
    this.vectors.memory.mustErase = true;
  }

  async openIndex(): Promise<void> {
    const payload = await this.build();
    const { memory } = this.vectors;
    memory.allocateBlock = (sizeBytes) => {
      const region = this.memory.allocateBlock(sizeBytes);
      this.#regions.push(region);
      return region;
    };
    await this.open(payload);
  }

  get bytes(): Buffer {
    return Buffer.concat(
      this.#regions.map(({ arena, address, sizeBytes }) => Buffer.from(arena.buffer, address, sizeBytes)),
    );
  }

  /** Returns the bytes that the removal of a row overwrites with zeros. */
  erasedBy(remove: () => void): number {
    const before = Buffer.from(this.bytes);
    remove();
    const after = this.bytes;
    return before.reduce((count, byte, at) => count + Number(byte !== 0 && after[at] === 0), 0);
  }
}

for (const kind of INDEX_KINDS)
  describe(`the memory of an index (${kind})`, () => {
    const random = seededRandom(testSeed());
    let rows: ErasedRows;
    const vectors = (count: number): Vector[] =>
      Array.from({ length: count }, () => randomVector(random, DIMENSION, BOUND));

    beforeEach(() => {
      rows = new ErasedRows(kind);
    });
    afterEach(() => rows.dispose());

    it('has no code of a removed row, whether it was built or absorbed', async () => {
      const built = rows.insert(vectors(ROWS));
      await rows.openIndex();
      const [absorbed] = rows.insert(vectors(1));
      expect(rows.absorb()).to.deep.equal([]);
      for (const id of [built[0]!, built[ROWS - 1]!, absorbed!])
        expect(rows.erasedBy(() => rows.delete(id))).to.be.at.least(CODE_BYTES[kind] - BY_CHANCE);
    });

    it('keeps the code of equal rows until the last of them is removed', async () => {
      const [secret] = vectors(1);
      const equal = rows.insert([secret!, secret!]);
      rows.insert(vectors(ROWS));
      await rows.openIndex();
      equal.push(...rows.insert([secret!]));
      expect(rows.absorb()).to.deep.equal([]);
      const last = equal.pop()!;
      for (const id of equal) rows.delete(id);
      expect(await rows.search(secret!, 1)).to.deep.equal([{ id: last, score: 0 }]);
      expect(rows.erasedBy(() => rows.delete(last))).to.be.at.least(CODE_BYTES[kind] - BY_CHANCE);
    });

    it('is zeros once the index is closed', async () => {
      rows.insert(vectors(ROWS));
      await rows.openIndex();
      expect(rows.bytes.some((byte) => byte !== 0)).to.equal(true);
      await rows.close();
      await eventually('the memory is zeros', async () => !rows.bytes.some((byte) => byte !== 0));
      await nextTurn();
    });
  });

describe('the memory of an index (ivf)', () => {
  it('has no centroid and no middle of a row that was alone in its list', async () => {
    const random = seededRandom(testSeed());
    const rows = new ErasedRows('ivf');
    rows.insert(Array.from({ length: ROWS }, () => randomVector(random, DIMENSION, BOUND)));
    const alone = randomVector(random, DIMENSION, BOUND).map((component) => component + 100 * BOUND);
    const [id] = rows.insert([alone]);
    await rows.openIndex();
    const pairs = Array.from({ length: DIMENSION / 2 }, (_, pair) =>
      Buffer.from(bytesOf(alone).subarray(8 * pair, 8 * pair + 8)),
    );
    const found = (): number => {
      const { bytes } = rows;
      return pairs.filter((pair) => bytes.includes(pair)).length;
    };
    expect(found()).to.equal(pairs.length);
    rows.delete(id!);
    expect(found()).to.equal(0);
    const [next] = rows.insert([alone]);
    expect(rows.absorb()).to.deep.equal([]);
    expect(await rows.search(alone, 1)).to.deep.equal([{ id: next, score: 0 }]);
    await rows.dispose();
  });
});

describe('the memory of an index (hnsw)', () => {
  it('has no code of a row that was removed between its build and its opening', async () => {
    const random = seededRandom(testSeed());
    const rows = new ErasedRows('hnsw');
    const ids = rows.insert(Array.from({ length: ROWS }, () => randomVector(random, DIMENSION, BOUND)));
    const payload = await rows.build();
    for (const id of ids) rows.delete(id);
    const build = rows.build.bind(rows);
    rows.build = async () => payload;
    await rows.openIndex();
    rows.build = build;
    const nonZero = rows.bytes.reduce((count, byte) => count + Number(byte !== 0), 0);
    // Each node keeps at least two links of up to two bytes, and no vector.
    expect(nonZero / ROWS).to.be.at.most(CODE_BYTES.hnsw + 2 * 16 * 2);
    await rows.dispose();
  });
});
