/**
 * Sources of logs in Node: exports on a disk, a standalone node's folder, and JetStream. Importing this sets BLAKE3 in
 * WebAssembly for the whole process.
 */
import { useBlake3 } from '../hashing.js';
import { wasmBlake3 } from './blake3.js';

useBlake3(wasmBlake3);

export { type CatalogItem, choose, readFolderCatalog, readFolderReached } from './catalog.js';
export { openExport, openFile } from './files.js';
export { LogFolder } from './folder.js';
export { JetStreamCluster } from './stream.js';
