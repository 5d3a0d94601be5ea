/** Gives memory back that a process used in a burst, such as its start, and does not need at rest. */
import { Session } from 'node:inspector';
import { getHeapStatistics } from 'node:v8';

const LOOK_MS = 5_000;
/** The share of a core below which the process is at rest. */
const REST_SHARE = 0.03;
/** What JavaScript holds beyond its objects from which on a collection is worth its pause. */
const SLACK_BYTES = 8 << 20;
/** The pause grows with the objects: this many take some 60 ms. */
const OBJECT_BYTES_MAX = 48 << 20;

/** Releases what the start has left behind, and from then on what each burst leaves behind once the process is at rest. */
export async function releaseMemoryAtRest(): Promise<void> {
  await releaseMemory();
  let cpu = process.cpuUsage();
  let heldBytes = getHeapStatistics().total_heap_size;
  const look = async (): Promise<void> => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    if (user + system > REST_SHARE * 1000 * LOOK_MS) return;
    const { total_heap_size: held, used_heap_size: used } = getHeapStatistics();
    // What the last collection could not release the next one cannot either.
    if (used > OBJECT_BYTES_MAX || held - used < SLACK_BYTES || held - heldBytes < SLACK_BYTES / 2) return;
    await releaseMemory();
    heldBytes = getHeapStatistics().total_heap_size;
  };
  setInterval(() => void look(), LOOK_MS).unref();
}

/**
 * Collects garbage as V8 does for lack of memory, which alone gives up the memory of young objects and that between old ones.
 * `gc` of `--expose-gc` does not. Takes some 30 ms for 25 MiB of objects, in which nothing else runs. Never throws: without an
 * inspector nothing is released.
 */
export async function releaseMemory(): Promise<void> {
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
