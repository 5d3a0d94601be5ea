/** The order of the rooms of each folder, which the tidy test checks. */

/** The files in a folder that have no row of their own. */
const OTHER_FILES = '*';

/**
 * The rooms of each folder, top floor first. A room is a subfolder or a file of the folder. Files of a room may import
 * files of their own room and of the rooms below it.
 */
export const FLOORS: Readonly<Record<string, readonly string[]>> = {
  coordinator: [
    'main.ts',
    'coordinator.ts',
    'edge.ts',
    'handlers',
    'http',
    'body',
    'contract',
    'auth',
    'limits',
    'serviceLog',
    'access',
    'cluster',
  ],
  shard: [
    ...[
      'main.ts',
      'shard.ts',
      'node',
      'follow',
      'collection',
      'asOf',
      'snapshot',
      'search',
      'records',
      'proof',
      'vault',
      'access',
      'state',
    ],
    ...['index', 'metadata', 'text', 'graph', 'audit', 'opening', 'answering', 'capacity', 'kernel'],
  ],
  'coordinator/cluster': ['clusterBackend.ts', 'reports', 'deletion', 'placement', 'calls', 'members', 'catalog'],
  'shard/index': [
    ...['collectionIndex.ts', 'generationMaker.ts', 'building.ts', 'services.ts', 'desiredSpecs.ts'],
    ...[
      'absorber.ts',
      'generation.ts',
      'maintenance.ts',
      'builds',
      'kinds.ts',
      'searchProgram.ts',
      'searchWorker.ts',
      'indexWork.ts',
      'hnsw',
      'ivf',
      'bq',
      'filteredExactCost.ts',
      'mergeSortedHits.ts',
      'searchQueue.ts',
      'loans.ts',
      'batchForm.ts',
    ],
    ...['replaced.ts', 'recordSet.ts', 'kind.ts', 'rows.ts', 'progress.ts', 'store'],
  ],
  shared: [
    ...[
      'platform',
      'registry',
      'protocol',
      'vault',
      'log',
      'bucket',
      'transport',
      'nats',
      'metrics',
      'process',
      'signing',
      'files',
    ],
    ...[
      'json',
      'hashing',
      'scheduling',
      'model',
      'errors',
      'logger.ts',
      'version.ts',
      'fixedPoint.ts',
      'limits.ts',
      'webAssembly.ts',
      'longMemory.ts',
      'slab.ts',
      'entropyPool.ts',
      'clock.ts',
    ],
  ],
  verifier: [
    ...[
      'node',
      'index.ts',
      'access.ts',
      'wholeAnswer.ts',
      'exportClaims.ts',
      'claims.ts',
      'erasedEvents.ts',
      'erasure.ts',
      'tlog',
      'recordJson.ts',
      'receiptEvent.ts',
      'reached.ts',
      'logProofs.ts',
    ],
    ...['exportFile.ts', 'fileReading.ts', 'receipt.ts', 'log.ts', 'source.ts'],
    ...[
      'checkpoint.ts',
      'signedText.ts',
      'json.ts',
      'ed25519.ts',
      'alteration.ts',
      'replay.ts',
      'recordTable.ts',
      'records.ts',
      'storedVector.ts',
    ],
    ...[
      'graph.ts',
      'leaves.ts',
      'tree.ts',
      'frame.ts',
      'hashing.ts',
      'events.ts',
      'actor.ts',
      'reading.ts',
      'counted.ts',
      'bytes.ts',
    ],
  ],
  console: [
    ...['entry.ts', 'main.tsx', 'app.tsx', 'screens', 'search', 'map', 'audit', 'service.ts', 'rateLimit.ts'],
    ...['prefix.ts', 'place.ts', 'parts', 'loading.ts'],
  ],
  scripts: [
    ...[OTHER_FILES, 'setup', 'demo', 'mcp', 'monitor', 'witness', 'keys', 'sbom', 'docs', 'backup', 'verify', 'load'],
    ...['service', 'local', 'hnswlib', 'terminal'],
  ],
  'test/support': ['suites', 'nats', 'rigs', 'api', 'launch', 'model', OTHER_FILES],
};

/** The floor of a file below `folder`: 0 is the top. Negative where the folder has no row for it. */
export function floorOf(folder: string, path: string): number {
  const rooms = FLOORS[folder] ?? [];
  const [room = '', ...inside] = path.slice(folder.length + 1).split('/');
  return rooms.indexOf(inside.length > 0 || rooms.includes(room) ? room : OTHER_FILES);
}
