import { Session } from 'node:inspector';

/**
 * Collects what the start of this process has left behind, and gives the memory back: mostly that of young objects, which grows
 * to its bound while modules are read, and which V8 gives up only in a collection for lack of memory. `gc` of `--expose-gc`
 * does not. Takes some 30 ms, in which nothing else runs. Never throws: without an inspector nothing is released.
 */
export async function releaseStartMemory(): Promise<void> {
  const session = new Session();
  try {
    session.connect();
    session.post('HeapProfiler.enable');
    await new Promise<void>((resolve) => session.post('HeapProfiler.collectGarbage', () => resolve()));
  } catch {
    // A Node that was built without an inspector.
  } finally {
    session.disconnect();
  }
}
