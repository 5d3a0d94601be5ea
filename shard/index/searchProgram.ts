/** The program of the threads of `kernel/scanThreads.ts`, which scan blocks of vectors and search indexes. */
export const SEARCH_PROGRAM = new URL('./searchWorker.js', import.meta.url);
