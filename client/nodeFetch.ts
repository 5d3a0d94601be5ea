/** A `fetch` for Node that takes about half of the processor time of the global one: it sends whole bodies by `node:http`. */
import { Agent, type IncomingMessage, request as requestByHttp } from 'node:http';
import { request as requestByHttps, Agent as SecureAgent } from 'node:https';
import { Readable } from 'node:stream';

/** Longer answers are streams. Shorter ones are read before they are returned. */
const WHOLE_BYTES_MAX = 1024 * 1024;
/** Statuses of answers without a body. */
const BODILESS = [204, 205, 304];

/**
 * Returns a function for the option `fetch`: `new Vouch({ url, fetch: nodeFetch() })`. Connections stay open for later requests, and do
 * not keep an idle process running. An address is a string or URL, and a body is text or bytes. Redirects are not followed, and
 * answers are not compressed. Without an answer it rejects with a TypeError.
 */
export function nodeFetch(): typeof fetch {
  const plain = new Agent({ keepAlive: true });
  const secure = new SecureAgent({ keepAlive: true });
  return async (address, { method = 'GET', headers, body, signal } = {}) => {
    if (address instanceof Request) throw new TypeError('nodeFetch: expected an address, got a Request');
    if (body != null && typeof body !== 'string' && !(body instanceof Uint8Array))
      throw new TypeError('nodeFetch: expected a body of text or bytes');
    signal?.throwIfAborted();
    const url = new URL(address);
    const isSecure = url.protocol === 'https:';
    const options = { method, headers: headersOf(headers, body), agent: isSecure ? secure : plain };
    const failure = (cause: unknown): unknown =>
      signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause });
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = (isSecure ? requestByHttps : requestByHttp)(url, options, resolve);
      const abort = (): void => void sent.destroy();
      signal?.addEventListener('abort', abort, { once: true });
      sent.once('close', () => signal?.removeEventListener('abort', abort));
      sent.on('error', (cause) => reject(failure(cause)));
      sent.end(body ?? undefined);
    });
    return responseOf(answer).catch((cause: unknown) => Promise.reject(failure(cause)));
  };
}

function headersOf(headers: RequestInit['headers'], body: string | Uint8Array | null | undefined) {
  const all = Object.fromEntries(new Headers(headers));
  return body == null ? all : { ...all, 'content-length': String(Buffer.byteLength(body)) };
}

async function responseOf(answer: IncomingMessage): Promise<Response> {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = answer;
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
  const head = { status, statusText, headers };
  const isBodiless = BODILESS.includes(status);
  const sizeBytes = isBodiless ? 0 : Number(answer.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  if (sizeBytes > WHOLE_BYTES_MAX) return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, head);
  // To the end, even of none: after it the connection takes the next request.
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer) chunks.push(chunk as Uint8Array);
  return new Response(isBodiless ? null : Buffer.concat(chunks), head);
}
