import type { BuildBase, BuildOrder, IndexBuilder } from '../kind.js';
import { codeBytesOf, encode } from './code.js';
import { type PayloadHead, PayloadReader, writePayload } from './payload.js';

const WORD_BYTES = 4;
/** Components gone through between two reports of progress: a millisecond or less. */
const REPORTED_COMPONENTS = 1 << 19;

/** Takes the mean of the rows, then the code of each. With a base it keeps the base's mean and codes. */
export const bqBuilder: IndexBuilder = {
  async build(order) {
    if (order.base === undefined) {
      order.progress.expect(2 * order.rows.count);
      await write(order, meanOf(order));
    } else {
      order.progress.expect(order.rows.count);
      await extend(order, order.base);
    }
    return { leftOut: [] };
  },
};

async function extend(order: BuildOrder, base: BuildBase): Promise<void> {
  const reader = await PayloadReader.open(base.path, order.rows.dimension);
  try {
    if (reader.head.count < base.count) throw new Error(`the base has ${reader.head.count} rows and not ${base.count}`);
    await write(order, reader.head.mean, { count: base.count, read: (...stretch) => reader.read(...stretch) });
  } finally {
    await reader.close();
  }
}

interface Encoded extends Pick<PayloadHead, 'count'> {
  readonly read: PayloadReader['read'];
}

const NOTHING: Encoded = { count: 0, read: () => Promise.resolve() };

/** Codes of ordinals below `encoded.count` are there already. */
async function write({ path, rows, progress }: BuildOrder, mean: Int32Array, encoded = NOTHING): Promise<void> {
  const codeWords = codeBytesOf(rows.dimension) / WORD_BYTES;
  const report = reporter(rows.dimension, progress);
  await writePayload(path, { mean, count: rows.count }, async (into, from, to) => {
    const fresh = Math.min(Math.max(from, encoded.count), to);
    if (fresh > from) await encoded.read(into, from, fresh);
    for (let ordinal = from; ordinal < to; ordinal++) {
      if (ordinal >= fresh && rows.isLive(ordinal))
        encode(rows.components(ordinal), mean, into, (ordinal - from) * codeWords);
      report.row();
    }
  });
  report.end();
}

/** By component, of the rows that live. */
function meanOf({ rows, progress }: BuildOrder): Int32Array {
  const sums = new Float64Array(rows.dimension);
  const report = reporter(rows.dimension, progress);
  let live = 0;
  for (let ordinal = 0; ordinal < rows.count; ordinal++) {
    report.row();
    if (!rows.isLive(ordinal)) continue;
    const components = rows.components(ordinal);
    for (let i = 0; i < sums.length; i++) sums[i]! += components[i]!;
    live++;
  }
  report.end();
  return Int32Array.from(sums, (sum) => Math.round(sum / Math.max(live, 1)));
}

/** Advances the progress by rows, now and then. */
function reporter(dimension: number, progress: BuildOrder['progress']): { row(): void; end(): void } {
  const rowsAtOnce = Math.ceil(REPORTED_COMPONENTS / dimension);
  let rows = 0;
  const end = (): void => {
    progress.advance(rows);
    rows = 0;
  };
  return {
    row: () => {
      if (++rows >= rowsAtOnce) end();
    },
    end,
  };
}
