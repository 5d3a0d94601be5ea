/** Recall and latency of each kind of index on one set of vectors, in the engine and over HTTP. */
import { benchBuildDelay } from './indexDelay.js';
import { benchIndexesInEngine } from './indexEngine.js';
import { benchIndexesOverHttp } from './indexHttp.js';
import { SETTINGS } from './indexSettings.js';
import { digitVectors, firstRows } from './indexVectors.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import type { Row } from './row.js';
import { realVectors } from './vectors.js';

/** Measurements of delays, one for each kind, besides those of the settings. */
const DELAYS = 3;

export async function benchIndexes(sizes: Sizes, dataFolder: string | undefined): Promise<Row[]> {
  const all = dataFolder === undefined ? await digitVectors() : await realVectors(dataFolder);
  const set = firstRows(all, sizes.indexRecords);
  return measured('index', 2 * SETTINGS.length + DELAYS, async (progress) => {
    return [
      ...(await benchIndexesInEngine(set, sizes, progress)),
      ...(await benchBuildDelay(set, sizes, progress)),
      ...(await benchIndexesOverHttp(set, sizes, progress)),
    ];
  });
}
