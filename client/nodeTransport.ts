/** Sends requests by `node:http`, which takes a small part of the processor time of Node's `fetch`. */
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { AnswerTooLong } from '../verifier/wholeAnswer.js';
import { ANSWER_BYTES_MAX, type Answer, type Request, type Transport } from './transport.js';

/** The bounds of Node's `fetch`, which hold for calls without a deadline too. */
const CONNECT_MS = 10_000;
const SILENCE_MS = 300_000;
/** An idle connection closes sooner than servers close it: a request on a closed one fails. */
const IDLE_MS = 4_000;
/** Methods whose requests state the length of their body, even of none. */
const WITH_BODY = ['POST', 'PUT', 'PATCH'];

type Modules = Pick<typeof process, 'getBuiltinModule'>;

/** How requests of one protocol are sent, over shared connections. An idle connection does not keep the process running. */
interface Connections {
  readonly request: (options: RequestOptions, answered: (answer: IncomingMessage) => void) => ClientRequest;
  readonly agent: Agent;
  /** The event of a socket that is ready. */
  readonly connected: 'connect' | 'secureConnect';
}

/** The connections of each protocol in use. */
const connections = new Map<string, Connections>();

/** The requests to the service at an address. Undefined where `fetch` is the better choice. */
export function nodeTransport(address: string, maxBytes = ANSWER_BYTES_MAX): Transport | undefined {
  const node = modulesOfNode();
  if (node === undefined) return undefined;
  const { protocol, hostname, host, port, origin } = new URL(address);
  const { agent, request: begin, connected } = connections.get(protocol) ?? connectionsOf(node, protocol);
  const target = {
    agent,
    // An IPv6 address without its brackets.
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? null : port,
    timeout: SILENCE_MS,
  };
  return (request, ending) =>
    new Promise((resolve, reject) => {
      const { method, url, body } = request;
      const options = { ...target, method, path: url.slice(origin.length), headers: headersOf(request, host) };
      let isAnswered = false;
      const done = (answer: Answer): void => {
        isAnswered = true;
        resolve(answer);
      };
      const sent = begin(options, (answer) => readWhole(answer, maxBytes, done, fail));
      const fail = (error: unknown): void => {
        reject(error);
        sent.destroy();
      };
      ending.onEnd(fail);
      sent.on('error', fail);
      sent.on('timeout', () => fail(new Error(`nothing came within ${SILENCE_MS} ms`)));
      sent.on('close', () => isAnswered || reject(new Error('the connection closed before the end of the answer')));
      if (!sent.reusedSocket) boundConnecting(sent, connected, fail);
      sent.end(body);
    });
}

/**
 * The modules of Node, from 20.16 on. Bun and Deno have a native `fetch`. Next.js replaces `fetch`, and learns by its calls which pages
 * it cannot render at the build.
 */
function modulesOfNode(): Modules | undefined {
  if (typeof process === 'undefined' || typeof process.getBuiltinModule !== 'function') return undefined;
  const { versions } = process;
  if (versions.uv === undefined || 'bun' in versions || 'deno' in versions) return undefined;
  return process.env.NEXT_RUNTIME === undefined ? process : undefined;
}

function connectionsOf(node: Modules, protocol: string): Connections {
  const isSecure = protocol === 'https:';
  const { Agent, request } = node.getBuiltinModule(isSecure ? 'node:https' : 'node:http');
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  const made: Connections = { request, agent, connected: isSecure ? 'secureConnect' : 'connect' };
  connections.set(protocol, made);
  return made;
}

/** A list of names and values, which Node does not copy. */
function headersOf({ method, headers, body }: Request, host: string): string[] {
  const list = ['host', host];
  for (const name of Object.keys(headers)) list.push(name, headers[name]!);
  if (body !== undefined) list.push('content-length', String(Buffer.byteLength(body)));
  else if (WITH_BODY.includes(method)) list.push('content-length', '0');
  return list;
}

function boundConnecting(sent: ClientRequest, connected: Connections['connected'], fail: (error: Error) => void): void {
  const late = setTimeout(() => fail(new Error(`no connection within ${CONNECT_MS} ms`)), CONNECT_MS);
  const stop = (): void => clearTimeout(late);
  sent.once('socket', (socket) => (socket.connecting ? socket.once(connected, stop) : stop()));
  sent.once('close', stop);
}

function readWhole(
  answer: IncomingMessage,
  maxBytes: number,
  done: (answer: Answer) => void,
  fail: (error: Error) => void,
): void {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  answer.on('error', fail);
  answer.on('data', (chunk: Uint8Array) => {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) fail(new AnswerTooLong(maxBytes));
  });
  answer.on('end', () => {
    const { buffer, byteOffset, length } = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, sizeBytes);
    const get = (name: string): string | null => answer.headersDistinct[name]?.join(', ') ?? null;
    done({ status: answer.statusCode!, headers: { get }, bytes: new Uint8Array(buffer, byteOffset, length) });
  });
}
