/**
 * Makes the graphs of the simulation like those of large collections. An index has several segments. Every search reads the
 * index, although a scan of so few rows would cost less.
 */
import { BUILDERS, OPENERS } from '../../../shard/index/kinds.js';

/** Some 1,500 nodes of 4 dimensions. */
const GRAPH_BYTES = 1 << 18;

const { hnsw: builder } = BUILDERS;
const build = builder.build.bind(builder);
builder.build = (order) => build({ ...order, graphBytesMax: GRAPH_BYTES });

const { hnsw: opener } = OPENERS;
const open = opener.open.bind(opener);
opener.open = async (order) => {
  const index = await open(order);
  index.cost = () => 0;
  return index;
};
