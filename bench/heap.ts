import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What JavaScript holds in this process once all garbage is gone: objects, and the bytes of buffers. */
export function liveHeapBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
