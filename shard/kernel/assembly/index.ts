/**
 * The exact kernel. All state is in the imported memory at addresses the host gives; the module itself has no data and
 * no heap, so the host owns every byte of the memory.
 */
export { beginScan, scanBytes } from './scan';
export { scanNarrow } from './scanNarrow';
export { scanWide } from './scanWide';
export { offerNarrow, offerWide, rowList } from './listed';
export { enterGather, gatheredRows, gatherNarrow, gatherWide } from './gather';
export { beginBitScan, bitEntries, bitScanBytes, forgetEntries, keepNearest, scanBits } from './bitCodes';
export { entryCount, finishScan } from './heap';
export { largestComponent } from './largest';
export { readAll } from './read';
export { cutRows } from './cut';
export { scanList } from './listScan';
export { assignRows } from './assign';
export { addToSums, lowerToSeed, moveToMeans, rowAtSum } from './train';
