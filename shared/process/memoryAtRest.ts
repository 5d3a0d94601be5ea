/** Returns memory to the system that a process used in a burst, such as its start, and does not need at rest. */
import { Session } from 'node:inspector';
import { getHeapStatistics } from 'node:v8';

const LOOK_MS = 5_000;
/** The share of a core below which the process is at rest. */
const REST_SHARE = 0.03;
/** Heap beyond the objects' size from which on a collection is worth its pause. */
const SLACK_BYTES = 8 << 20;
/** Largest size of the objects: the pause grows with them, here to some 60 ms. */
const OBJECT_BYTES_MAX = 48 << 20;

/**
 * Releases memory after the start, and after each later burst, once the process is at rest. It looks every `lookMs`. A process that
 * has work at once, or ends soon, does not wait for a collection.
 */
export function releaseMemoryAtRest(lookMs = LOOK_MS): void {
  let cpu = process.cpuUsage();
  /** Heap size after the last collection; undefined before the first one. */
  let heldBytes: number | undefined;
  const look = async (): Promise<void> => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    if (user + system > REST_SHARE * 1000 * lookMs) return;
    const { total_heap_size: held, used_heap_size: used } = getHeapStatistics();
    if (used > OBJECT_BYTES_MAX) return;
    // Another collection would release no more than the last one.
    if (heldBytes !== undefined && (held - used < SLACK_BYTES || held - heldBytes < SLACK_BYTES / 2)) return;
    await releaseMemory();
    heldBytes = getHeapStatistics().total_heap_size;
  };
  setInterval(() => void look(), lookMs).unref();
}

/**
 * Collects garbage as V8 does for lack of memory. Only that, and not `gc` of `--expose-gc`, releases the memory of young objects
 * and that between old ones. It blocks the process, some 30 ms for 25 MiB of objects. Never throws: without an inspector no memory
 * is released.
 */
export async function releaseMemory(): Promise<void> {
  const session = new Session();
  try {
    session.connect();
    session.post('HeapProfiler.enable');
    await new Promise<void>((resolve) => session.post('HeapProfiler.collectGarbage', () => resolve()));
  } catch {
    // This Node was built without an inspector.
  } finally {
    session.disconnect();
  }
}
