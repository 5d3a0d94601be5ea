/** Time and chance of the client, for deadlines, waits and request ids. */

/** Milliseconds from an arbitrary start. Never goes back. */
export const monotonicMs = (): number => performance.now();

/** 16 unpredictable bytes as 32 hex digits. */
export const newRequestId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** An id of a document: a UUID of version 4. */
export const newDocumentId = (): string => crypto.randomUUID();

/** A number from 0 to 1, so that many clients do not come back at the same moment. */
export const jitter = (): number => crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32;

/** Waits. Rejects with the reason of `signal` as soon as it is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}
