import { connect } from 'node:net';

/** The first line from a NATS server to every client, before TLS and the login. */
export interface ServerInfo {
  readonly server_name: string;
  readonly version: string;
  readonly jetstream?: boolean;
  /** Whether it asks for a client's certificate. */
  readonly tls_verify?: boolean;
}

/** Resolves to undefined if no NATS server answers there within `timeoutMs`. */
export function askServerInfo(host: string, port: number, timeoutMs: number): Promise<ServerInfo | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    let text = '';
    const end = (info: ServerInfo | undefined): void => {
      socket.destroy();
      resolve(info);
    };
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\r\n')) end(parseInfo(text));
    });
    socket.on('timeout', () => end(undefined));
    socket.on('error', () => end(undefined));
    socket.on('close', () => end(undefined));
  });
}

function parseInfo(text: string): ServerInfo | undefined {
  const info = /^INFO (\{.*\})\s*\r\n/.exec(text)?.[1];
  try {
    return info === undefined ? undefined : (JSON.parse(info) as ServerInfo);
  } catch {
    return undefined;
  }
}
