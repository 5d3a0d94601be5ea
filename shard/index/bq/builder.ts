/** Builds the codes of binary quantisation, relative to the mean of the live rows; see `bq.ts`. */
import { SignCoder, signCodeBytes } from '../../kernel/signCodes.js';
import type { BuildOrder, IndexBuilder } from '../kind.js';
import { type BqPayload, readBqPayload, stretches, writeBqPayload } from './payload.js';

/** Computes the mean of the live rows, then the code of each. With a base it keeps the mean and the codes of the base. */
export const bqBuilder: IndexBuilder = {
  async build(order) {
    const { rows, base, progress } = order;
    progress.setTotal((base === undefined ? 2 : 1) * rows.count);
    if (base === undefined) await write(order, meanOf(order));
    else
      await readBqPayload(base, rows.dimension, ({ count, mean, read }) => {
        if (count < base.count) throw new Error(`the base has ${count} rows, not ${base.count}`);
        return write(order, mean, { count: base.count, read });
      });
    return { leftOut: [] };
  },
};

/** Writes the payload. Codes of ordinals below `base.count` are read from the base. */
function write(
  { path, cipher, rows, progress }: BuildOrder,
  mean: Int32Array,
  base?: Pick<BqPayload, 'count' | 'read'>,
): Promise<void> {
  const coder = new SignCoder(rows.dimension);
  const codeBytes = signCodeBytes(rows.dimension);
  return writeBqPayload({ path, cipher }, mean, rows.count, async (into, from, to) => {
    const fresh = Math.min(Math.max(from, base?.count ?? 0), to);
    if (fresh > from) await base?.read(into, from, fresh);
    for (let ordinal = fresh; ordinal < to; ordinal++)
      if (rows.isLive(ordinal)) into.set(coder.encode(rows.components(ordinal), mean), (ordinal - from) * codeBytes);
    progress.advance(to - from);
  });
}

/** Returns the mean of the live rows, by component. */
function meanOf({ rows, progress }: BuildOrder): Int32Array {
  const sums = new Float64Array(rows.dimension);
  let live = 0;
  for (const [from, to] of stretches(rows.count, signCodeBytes(rows.dimension))) {
    for (let ordinal = from; ordinal < to; ordinal++) {
      if (!rows.isLive(ordinal)) continue;
      const components = rows.components(ordinal);
      for (let i = 0; i < sums.length; i++) sums[i]! += components[i]!;
      live++;
    }
    progress.advance(to - from);
  }
  return Int32Array.from(sums, (sum) => Math.round(sum / Math.max(live, 1)));
}
