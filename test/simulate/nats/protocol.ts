/** The client protocol of NATS, as its server reads and writes it. */

export type ClientOp =
  | { readonly op: 'connect' }
  | { readonly op: 'ping' }
  | { readonly op: 'pong' }
  | { readonly op: 'sub'; readonly subject: string; readonly queue: string | undefined; readonly sid: string }
  | { readonly op: 'unsub'; readonly sid: string; readonly max: number }
  | {
      readonly op: 'pub';
      readonly subject: string;
      readonly reply: string;
      /** Headers with their first line and the empty line at the end; empty: none. */
      readonly headers: Buffer;
      readonly body: Buffer;
    };

const NONE = Buffer.alloc(0);
const CRLF = 2;

export class ClientReader {
  #rest: Buffer = NONE;

  /** Reads all complete operations. */
  *read(bytes: Buffer): Generator<ClientOp> {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    for (;;) {
      const end = all.indexOf('\r\n', at);
      if (end < 0) break;
      const words = all.toString('latin1', at, end).split(' ');
      // Spaces may be doubled.
      if (words.includes('')) words.splice(0, words.length, ...words.filter((word) => word !== ''));
      const next = end + CRLF;
      const verb = words[0]!.toUpperCase();
      if (verb === 'PUB' || verb === 'HPUB') {
        const total = Number(words.at(-1));
        if (all.length < next + total + CRLF) break;
        yield published(verb, words, all.subarray(next, next + total));
        at = next + total + CRLF;
        continue;
      }
      at = next;
      const op = opOf(verb, words);
      if (op !== undefined) yield op;
    }
    this.#rest = all.subarray(at);
  }
}

function published(verb: string, words: readonly string[], bytes: Buffer): ClientOp {
  // PUB subject [reply] bytes; HPUB subject [reply] header-bytes bytes
  const hasReply = words.length === (verb === 'PUB' ? 4 : 5);
  const headerBytes = verb === 'PUB' ? 0 : Number(words.at(-2));
  return {
    op: 'pub',
    subject: words[1]!,
    reply: hasReply ? words[2]! : '',
    headers: headerBytes === 0 ? NONE : bytes.subarray(0, headerBytes),
    body: headerBytes === 0 ? bytes : bytes.subarray(headerBytes),
  };
}

function opOf(verb: string, words: readonly string[]): ClientOp | undefined {
  switch (verb) {
    case 'CONNECT':
      return { op: 'connect' };
    case 'PING':
      return { op: 'ping' };
    case 'PONG':
      return { op: 'pong' };
    case 'SUB':
      return words.length === 4
        ? { op: 'sub', subject: words[1]!, queue: words[2], sid: words[3]! }
        : { op: 'sub', subject: words[1]!, queue: undefined, sid: words[2]! };
    case 'UNSUB':
      return { op: 'unsub', sid: words[1]!, max: Number(words[2] ?? 0) };
    default:
      return undefined;
  }
}

/** Encodes a message for a client. */
export function messageBytes(subject: string, sid: string, reply: string, headers: Buffer, body: Buffer): Buffer {
  const to = reply === '' ? `${subject} ${sid}` : `${subject} ${sid} ${reply}`;
  const sizes = headers.length === 0 ? `${body.length}` : `${headers.length} ${headers.length + body.length}`;
  const line = `${headers.length === 0 ? 'MSG' : 'HMSG'} ${to} ${sizes}\r\n`;
  const { length } = line;
  const bytes = Buffer.allocUnsafe(length + headers.length + body.length + CRLF);
  bytes.write(line, 0, 'latin1');
  if (headers.length > 0) bytes.set(headers, length);
  if (body.length > 0) bytes.set(body, length + headers.length);
  bytes.write('\r\n', bytes.length - CRLF, 'latin1');
  return bytes;
}

/** Encodes headers. `status`: a status of the server's own messages, such as `503`. */
export const headerBytes = (headers: Readonly<Record<string, string>>, status = ''): Buffer =>
  Buffer.from(
    `NATS/1.0${status && ` ${status}`}\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`,
  );

/** Value of the header with exactly this name; undefined without one. */
export function headerIn(headers: Buffer, name: string): string | undefined {
  if (headers.length === 0 || !headers.includes(name)) return undefined;
  for (const line of headers.toString('latin1').split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0 && line.slice(0, colon) === name) return line.slice(colon + 1).trim();
  }
  return undefined;
}
