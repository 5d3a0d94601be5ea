/** The opener and the builder of each kind of index. */
import type { IndexKind } from '../../shared/model/indexSpec.js';
import { bq } from './bq/bq.js';
import { bqBuilder } from './bq/builder.js';
import { hnswBuilder } from './hnsw/builder.js';
import { hnsw } from './hnsw/hnsw.js';
import { ivfBuilder } from './ivf/builder.js';
import { ivf } from './ivf/ivf.js';
import type { IndexBuilder, IndexOpener } from './kind.js';

export const OPENERS: Readonly<Record<IndexKind, IndexOpener>> = { hnsw, ivf, bq };
export const BUILDERS: Readonly<Record<IndexKind, IndexBuilder>> = {
  hnsw: hnswBuilder,
  ivf: ivfBuilder,
  bq: bqBuilder,
};
