/** Compresses long answers for clients that ask for it, outside of the event loop. */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { weightOf } from './mediaTypes.js';
import type { Header, Reply } from './reply.js';
import type { RequestHead } from './requestHead.js';

/** A shorter answer is sent as it is. */
const LEAST_BYTES = 8 * 1024;
/** Threads of Node's pool that may compress: files need the other two of its four. */
const AT_ONCE = 2;
/** Brotli at this quality takes as long as gzip at its usual level, and its output is smaller. */
const BROTLI_QUALITY = 4;
const PIECE_BYTES = 64 * 1024;
/** Not compressed, since it carries logs and snapshots: vectors hardly shrink, and encrypted payloads do not. */
const KEPT_TYPE = 'application/octet-stream';

type Coding = 'br' | 'gzip';

const asGzip = promisify(gzip);
const asBrotli = promisify(brotliCompress);
const COMPRESS: Readonly<Record<Coding, (body: string | Uint8Array) => Promise<Buffer>>> = {
  gzip: (body) => asGzip(body, { chunkSize: PIECE_BYTES }),
  br: (body) =>
    asBrotli(body, { chunkSize: PIECE_BYTES, params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
};
const VARY: Header = ['vary', 'accept-encoding'];

/** The coding that the client prefers; undefined: the uncompressed answer. */
function codingOf(acceptEncoding: string): Coding | undefined {
  if (acceptEncoding === '') return undefined;
  const others = weightOf('*', acceptEncoding) ?? 0;
  const br = weightOf('br', acceptEncoding) ?? others;
  const gzip = weightOf('gzip', acceptEncoding) ?? others;
  const coding = br >= gzip ? 'br' : 'gzip';
  const weight = Math.max(br, gzip);
  return weight > 0 && weight >= (weightOf('identity', acceptEncoding) ?? 0) ? coding : undefined;
}

export class Compressor {
  #running = 0;
  /** Compressed forms of answers that are sent repeatedly, such as files, by the answer object. */
  readonly #done = new WeakMap<Reply, Map<Coding, Reply>>();

  /** The answer to send: uncompressed if it is short, if the client does not accept a coding, or if too many are being compressed. */
  compress(reply: Reply, { acceptEncoding, method }: RequestHead): Reply | Promise<Reply> {
    if (reply.body.length < LEAST_BYTES || reply.contentType === null || reply.contentType === KEPT_TYPE) return reply;
    const coding = codingOf(acceptEncoding);
    const done = coding && this.#done.get(reply)?.get(coding);
    if (done !== undefined) return done;
    // An answer to HEAD has the length of the uncompressed body.
    if (coding === undefined || method === 'HEAD' || this.#running >= AT_ONCE) return withHeaders(reply, [VARY]);
    return this.#compress(reply, coding);
  }

  async #compress(reply: Reply, coding: Coding): Promise<Reply> {
    this.#running += 1;
    try {
      const body = await COMPRESS[coding](reply.body);
      const compressed = { ...withHeaders(reply, [['content-encoding', coding], VARY]), body };
      const codings = this.#done.get(reply) ?? new Map<Coding, Reply>();
      this.#done.set(reply, codings.set(coding, compressed));
      return compressed;
    } catch {
      // Too little memory to compress: the answer is sent uncompressed.
      return withHeaders(reply, [VARY]);
    } finally {
      this.#running -= 1;
    }
  }
}

const withHeaders = (reply: Reply, headers: readonly Header[]): Reply => ({
  ...reply,
  headers: [...(reply.headers ?? []), ...headers],
});
