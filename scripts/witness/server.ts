/** The HTTP side of the witness. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { say } from '../terminal/line.js';
import type { Witness, WitnessReply } from './witness.js';

/** Largest body: a checkpoint with many signatures and its proof. */
const BODY_BYTES_MAX = 64 * 1024;
const REQUEST_MS = 10_000;

export interface WitnessServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Throws an Error of one line if it cannot listen there. */
export async function serveWitness(witness: Witness, host: string, port: number): Promise<WitnessServer> {
  const server = createServer((request, response) => void answer(witness, request, response));
  server.requestTimeout = REQUEST_MS;
  server.headersTimeout = REQUEST_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(`it cannot listen on ${host}:${port} (${error.code})`)),
    );
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

async function answer(witness: Witness, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let reply: WitnessReply;
  try {
    reply = await replyTo(witness, request);
  } catch (error) {
    // The checkpoint was not stored, so the witness must not cosign it.
    say('failed', 'witness', (error as Error).message);
    reply = { status: 500, body: 'the witness failed\n' };
  }
  const { status, body, contentType = 'text/plain; charset=utf-8' } = reply;
  response.writeHead(status, { 'content-type': contentType, 'x-content-type-options': 'nosniff' }).end(body);
}

async function replyTo(witness: Witness, request: IncomingMessage): Promise<WitnessReply> {
  const { method, url = '/' } = request;
  if (url === '/add-checkpoint') {
    if (method !== 'POST') return { status: 405, body: 'this takes POST\n' };
    const body = await bodyOf(request);
    return body === undefined ? { status: 413, body: 'the request is too large\n' } : witness.addCheckpoint(body);
  }
  const originHash = /^\/([0-9a-f]{64})\/checkpoint$/.exec(url)?.[1];
  const note = originHash === undefined ? undefined : witness.checkpoint(originHash);
  if (note === undefined) return { status: 404, body: 'there is nothing at this path\n' };
  return method === 'GET' ? { status: 200, body: note } : { status: 405, body: 'this takes GET\n' };
}

/** The body; undefined if it is too large. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
    sizeBytes += (chunk as Buffer).length;
    if (sizeBytes > BODY_BYTES_MAX) return undefined;
  }
  return Buffer.concat(chunks).toString('utf8');
}
