/** Waiting for what may take long, for as long as there is somebody to wait for. */
import { unavailable } from '../../shared/errors.js';

const LOOK_EVERY_MS = 500;

/**
 * As `answer`, but `unavailable` soon after `isServed` has become false: the process that was asked is gone, and its
 * answer would be waited for until the deadline.
 */
export async function whileServed<T>(answer: Promise<T>, isServed: () => boolean): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const gone = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (!isServed()) reject(unavailable('the shard that was asked is gone, and it is not known what it did; retry'));
    }, LOOK_EVERY_MS);
  });
  try {
    return await Promise.race([answer, gone]);
  } finally {
    clearInterval(timer);
  }
}
