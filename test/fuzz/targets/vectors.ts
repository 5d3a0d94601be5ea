/** Vectors of any components are kept exactly, and a search through their codes finds what measuring each of them finds. */

import { VectorMemory } from '../../../shard/kernel/vectorMemory.js';
import type { SeededRandom } from '../../support/model/random.js';
import { bytesOf, listed, Modelled, nearest, noPause } from '../../unit/shard/kernel/kernelOracle.js';
import type { FuzzTarget } from '../target.js';

const HEADER_BYTES = 4;
const DIMENSION_MIN = 16;
/** Rows and a query; fewer rows have no codes. */
const VECTORS_MIN = 24;
const SAMPLES = 12;

/** Dimension, k and a shift of all components; then the vectors, of which the last is the query. */
function sample(random: SeededRandom, number: number): Uint8Array {
  const dimension = DIMENSION_MIN + random.int(20);
  const vectors = VECTORS_MIN + random.int(60);
  const components = new Int32Array(1 + dimension * vectors);
  for (let at = 1; at < components.length; at++)
    components[at] = Math.floor((random.next() * 2 - 1) * 2 ** (31 - 2 * number));
  const bytes = new Uint8Array(components.buffer);
  bytes.set([dimension - DIMENSION_MIN, random.int(20), 0, 0]);
  return bytes;
}

export const vectors: FuzzTarget = {
  name: 'vectors',
  open: async (random) => {
    const memory = new VectorMemory();
    return {
      samples: Array.from({ length: SAMPLES }, (_, number) => sample(random, number)),
      tryOne: async (input) => {
        const [dimensions = 0, results = 0, shift = 0] = input;
        const dimension = DIMENSION_MIN + (dimensions % 32);
        const bytes = input.slice(HEADER_BYTES);
        if (bytes.length % 4 !== 0 || bytes.length < 4 * dimension * VECTORS_MIN) return 'refused';
        const components = new Int32Array(bytes.buffer).map((component) => component >> (shift % 32));
        const count = Math.floor(components.length / dimension);
        const at = (vector: number) => components.subarray(vector * dimension, (vector + 1) * dimension);
        const collection = new Modelled(dimension, memory);
        for (let row = 0; row < count - 1; row++) collection.insert(at(row));
        // Rows of full blocks are erased, and others are written that may be beyond the range of their block.
        for (const [slot, { id }] of collection.rows) if (id % 3 === 0) collection.release(slot);
        for (let row = 0; row < count - 1; row += 3) collection.insert(at(row).map((component) => component << 3));
        for (const [slot, { vector }] of collection.rows)
          if (Buffer.compare(collection.vectors.vectorView(slot), bytesOf(vector)) !== 0)
            throw new Error(`slot ${slot} has another vector`);
        const k = 1 + (results % 20);
        const query = at(count - 1);
        const found = listed(await collection.vectors.search(query, k, noPause));
        collection.vectors.destroy();
        const expected = nearest(collection.rows, query, k);
        if (JSON.stringify(found) !== JSON.stringify(expected))
          throw new Error(`found ${JSON.stringify(found)} in place of ${JSON.stringify(expected)}`);
        return 'taken';
      },
      close: async () => {
        if (memory.usedBytes !== 0) throw new Error(`${memory.usedBytes} bytes of vectors are left`);
      },
    };
  },
};
