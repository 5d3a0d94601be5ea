import type { KindOfIndex, OpenOrder } from '../kind.js';
import { NO_SLOT } from '../rows.js';
import { BqIndex } from './bqIndex.js';
import { codeBytesOf } from './code.js';
import { CodeBlocks } from './codeBlocks.js';
import { PayloadReader, stretches, stretchOfCodes } from './payload.js';

const WORD_BYTES = 4;

/** Binary quantisation: a bit a component. Codes are compared first, and the rows whose codes differ least measured. */
export const bq: KindOfIndex = {
  async open(order) {
    const reader = await PayloadReader.open(order.path, order.vectors.dimension);
    const { memory, shape, dimension } = order.vectors;
    const codes = new CodeBlocks(memory, shape, codeBytesOf(dimension));
    try {
      await load(order, reader, codes);
      return new BqIndex(order, reader.head.mean, codes);
    } catch (error) {
      codes.free();
      throw error;
    } finally {
      await reader.close();
    }
  },

  sameBuild: () => true,
};

async function load({ rows, vectors }: OpenOrder, reader: PayloadReader, codes: CodeBlocks): Promise<void> {
  const { count } = reader.head;
  if (count !== rows.count) throw new Error(`the BQ payload has ${count} rows and not ${rows.count}`);
  const codeBytes = codeBytesOf(vectors.dimension);
  const words = stretchOfCodes(codeBytes);
  for (const [from, to] of stretches(rows.count, codeBytes)) {
    await reader.read(words, from, to);
    for (let ordinal = from; ordinal < to; ordinal++) {
      const slot = rows.slotOf(ordinal);
      if (slot !== NO_SLOT) codes.write(slot, words, ((ordinal - from) * codeBytes) / WORD_BYTES);
    }
  }
}
