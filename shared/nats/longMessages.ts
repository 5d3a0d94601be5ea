/**
 * Makes nats.js send and receive long messages with fewer copies. By itself it joins the pieces of a sent message in new memory. The
 * memory of a received message grows with each piece that arrives, at twice the size.
 */
import type { NatsConnection } from 'nats';
import { LONG_BYTES, longMemory } from '../longMemory.js';

/** Shorter pieces are joined before they are sent. */
const PIECE_BYTES = 16 * 1024;

interface Outbound {
  size(): number;
  length(): number;
  shift(): Uint8Array;
}

/** The parts of the connection that nats.js does not export. */
interface Protocol {
  readonly parser: Parser;
  readonly outbound: Outbound;
  readonly transport: {
    readonly socket?: { cork(): void; uncork(): void };
    send(bytes: Uint8Array): void;
  };
  readonly infoReceived: boolean;
  readonly connected: boolean;
  flushPending(): void;
}

/** The parser of received bytes. */
interface Parser {
  /** The message that is arriving; `size` is that of its headers and its body. */
  readonly ma: { readonly size: number } | undefined;
  /** The part of it that has arrived in earlier pieces. */
  msgBuf: Received | undefined;
  parse(bytes: Uint8Array): void;
}

interface Received {
  readonly length: number;
  write(bytes: Uint8Array): void;
  writeByte(byte: number): void;
  bytes(options: { readonly copy: false }): Uint8Array;
}

/** A message that arrives in pieces, in memory of its size. Its receiver may reuse the memory. */
class LongMessage implements Received {
  length = 0;
  readonly #bytes: Buffer;

  constructor(sizeBytes: number) {
    this.#bytes = longMemory(sizeBytes);
  }

  write(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  writeByte(byte: number): void {
    this.#bytes[this.length++] = byte;
  }

  bytes(): Uint8Array {
    return this.#bytes;
  }
}

/** Parsers of nats.js that are changed: one for all connections. */
const changed = new WeakSet<Parser>();

export function handleLongMessages(nc: NatsConnection): void {
  const { protocol } = nc as unknown as { readonly protocol: Protocol };
  sendInPieces(protocol);
  // Each connection to a server gets a new parser.
  receiveAtSize(Object.getPrototypeOf(protocol.parser) as Parser);
}

function sendInPieces(protocol: Protocol): void {
  const flush = protocol.flushPending.bind(protocol);
  protocol.flushPending = () => {
    const { outbound, transport, infoReceived, connected } = protocol;
    if (!infoReceived || !connected || outbound.size() < LONG_BYTES) {
      flush();
      return;
    }
    transport.socket?.cork();
    let short: Uint8Array[] = [];
    const sendShort = (): void => {
      if (short.length > 0) transport.send(Buffer.concat(short));
      short = [];
    };
    while (outbound.length() > 0) {
      const piece = outbound.shift();
      if (piece.length < PIECE_BYTES) {
        short.push(piece);
        continue;
      }
      sendShort();
      transport.send(piece);
    }
    sendShort();
    transport.socket?.uncork();
  };
}

function receiveAtSize(parser: Parser): void {
  if (changed.has(parser)) return;
  changed.add(parser);
  const { parse } = parser;
  parser.parse = function (bytes) {
    const before = this.msgBuf;
    parse.call(this, bytes);
    const begun = this.msgBuf;
    if (begun === undefined || begun === before || this.ma === undefined || this.ma.size < LONG_BYTES) return;
    const message = new LongMessage(this.ma.size);
    message.write(begun.bytes({ copy: false }));
    this.msgBuf = message;
  };
}
