/** Each kind of index on the same vectors: what it finds and how long it takes, in the engine and over HTTP. */
import { benchBuildDelay } from './indexDelay.js';
import { benchIndexesInEngine } from './indexEngine.js';
import { benchIndexesOverHttp } from './indexHttp.js';
import { SETTINGS } from './indexSettings.js';
import { digitVectors, firstRows } from './indexVectors.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import type { Row } from './row.js';
import { realVectors } from './vectors.js';

/** Besides the settings in the engine and over HTTP: a delay of each kind. */
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
