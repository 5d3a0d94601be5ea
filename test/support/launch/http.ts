/** Raw HTTP: writes bytes to a socket unchanged, which no proper client does. */
import { connect } from 'node:net';
import { PATIENCE_MS } from '../patience.js';

export interface RawAnswer {
  readonly status: number;
  /** Keyed by name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Writes `request` and resolves with every answer received once `count` are complete, or the server closed. A refused
 * connection has no answers. `inTurn`: the parts are requests, each written when the one before is answered.
 */
export function rawExchange(
  port: number,
  request: string | readonly string[],
  count = 1,
  { inTurn = false } = {},
): Promise<RawAnswer[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const parts = typeof request === 'string' ? [request] : request;
    const isHead = parts[0]!.startsWith('HEAD ');
    let received = '';
    const settle = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answersIn(received, isHead));
    };
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no ${count} answers within ${PATIENCE_MS} ms; received: ${received.slice(0, 200)}`));
    }, PATIENCE_MS);
    socket.on('data', (data) => {
      received += data.toString('latin1');
      const answers = answersIn(received, isHead).length;
      if (answers >= count) settle();
      else if (inTurn) for (; written <= answers; written++) socket.write(parts[written]!);
    });
    socket.on('close', settle);
    socket.on('error', () => settle());
    let written = inTurn ? 1 : parts.length;
    for (const part of parts.slice(0, written)) socket.write(part);
  });
}

/** Head of a request with its blank line. */
export const requestHead = (method: string, path: string, headers: Readonly<Record<string, string>> = {}): string =>
  [`${method} ${path} HTTP/1.1`, 'host: test', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)]
    .join('\r\n')
    .concat('\r\n\r\n');

/** All complete answers. `isHead`: the first one has no body, whatever its length says. */
function answersIn(received: string, isHead: boolean): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = received;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return answers;
    const [statusLine, ...lines] = rest.slice(0, end).split('\r\n');
    const headers = new Map(
      lines.map((line) => [line.split(':')[0]!.toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    );
    const length = isHead && answers.length === 0 ? 0 : Number(headers.get('content-length') ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    if (body.length < length) return answers;
    answers.push({ status: Number(statusLine!.split(' ')[1]), headers, body });
    rest = rest.slice(end + 4 + length);
  }
}
