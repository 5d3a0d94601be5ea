/**
 * Reads the whole answer of an HTTP server that may send endlessly. It is in the verifier, which imports no other folder, so that
 * every folder can import it.
 */

export interface AnswerBounds {
  /** Longest time until the last byte of the body. Undefined: only `signal` ends the exchange. */
  readonly withinMs?: number | undefined;
  readonly maxBytes: number;
  /** Ends the exchange, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Error of an answer of more than `maxBytes`, whose rest was not read. */
export class AnswerTooLong extends Error {
  constructor(maxBytes: number) {
    super(`the answer is longer than ${maxBytes} bytes`);
  }
}

export interface WholeAnswer {
  readonly status: number;
  /** Whether the status is 2xx. */
  readonly ok: boolean;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * Sends one request, and reads its answer. Throws the errors of `fetch`, AnswerTooLong, and an Error of one line when the time has
 * passed.
 *
 * A signal for `fetch` does not bound the body. Node has only weak references to an `AbortSignal.timeout`, and undici to its
 * listeners of other signals; both may be collected while a body is read. Here the timer rejects the call itself, and cancels
 * the reader of the body.
 */
export function wholeAnswer(url: string, request: RequestInit, bounds: AnswerBounds): Promise<WholeAnswer> {
  const { withinMs, maxBytes, signal, fetch = globalThis.fetch } = bounds;
  const ended = new AbortController();
  let reader: BodyReader | undefined;

  const read = async (): Promise<WholeAnswer> => {
    // Called without an object, as the fetch of a browser demands.
    const response = await fetch(url, { ...request, signal: ended.signal });
    reader = response.body?.getReader();
    // The head may arrive after the exchange was ended.
    ended.signal.throwIfAborted();
    const { status, ok, headers } = response;
    return { status, ok, headers, bytes: await bytesOf(reader, maxBytes) };
  };

  return new Promise((resolve, reject) => {
    const end = (reason: unknown): void => {
      reject(reason);
      ended.abort(reason);
      void reader?.cancel(reason).catch(() => undefined);
    };
    const onAbort = (): void => end(signal?.reason);
    const timer =
      withinMs === undefined
        ? undefined
        : setTimeout(() => end(new Error(`no whole answer came within ${withinMs} ms`)), withinMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    void read()
      .then(resolve, end)
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      });
  });
}

async function bytesOf(reader: BodyReader | undefined, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read()) {
    chunks.push(chunk.value);
    sizeBytes += chunk.value.length;
    if (sizeBytes > maxBytes) throw new AnswerTooLong(maxBytes);
  }
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
