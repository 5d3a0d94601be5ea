/**
 * The exact kernel. All state is in the imported memory, at addresses that the host gives: no data section, no heap.
 */
export { beginScan, entriesOf as entries, rowsOf as rowList, scanBytes } from './scan';
export { enterGather, gatherRows, offerRows, scanRows } from './rows';
export { finishScan, mergeScan } from './heap';
export { largestComponent, readAll } from './lanes';
export { beginFit, encodeRows, endFit, fitRows } from './plane';
export { joinRow, splitRows } from './splitRows';
export { encodeSigns, enterSigns, estimateRows, keepLeast, rotate } from './signs';
export { cutRows } from './cut';
export { scanList, scanListBySigns, worstDistance } from './listScan';
export { assignRows } from './assign';
export { addToSums, lowerDistancesToSeed, moveToMeans, rowAtSum } from './train';
export { findBadNode } from './graphCheck';
export { linkNodes } from './graphLink';
export { continueWalk, walkGraph } from './graphWalk';
