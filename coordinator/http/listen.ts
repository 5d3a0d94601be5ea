/** Opens a listening socket, one's own or one among several of a port, and says plainly why when it cannot. */
import * as uws from 'uWebSockets.js';
import { type TemplatedApp, type us_listen_socket, us_socket_local_port } from 'uWebSockets.js';
import { createServer } from 'node:net';

export interface Address {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Other processes that say so too, of this user, listen on it as well: the kernel gives each connection to one of them. */
  readonly sharePort?: boolean;
}

// Its types know neither this constant nor a call with both a host and options; it has them.
const { LIBUS_LISTEN_EXCLUSIVE_PORT } = uws as unknown as { readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number };
/** What it does unless told otherwise: SO_REUSEPORT. */
const SHARED_PORT = 0;
type Listen = (host: string, port: number, options: number, cb: (socket: us_listen_socket | false) => void) => void;

/** Throws an Error of one line. Without the exclusive option a second server would silently share the port. */
export async function listen(
  app: TemplatedApp,
  { host, port, sharePort = false }: Address,
): Promise<{ socket: us_listen_socket; port: number }> {
  const options = sharePort ? SHARED_PORT : LIBUS_LISTEN_EXCLUSIVE_PORT;
  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    (app.listen as unknown as Listen).call(app, host, port, options, resolve);
  });
  if (socket === false) throw new Error(`cannot listen on ${host}:${port}: ${await whyNot(host, port)}`);
  return { socket, port: us_socket_local_port(socket) };
}

/** uWebSockets.js keeps the reason to itself: node is asked to fail in the same way. */
function whyNot(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(reason(error)));
    probe.listen(port, host, () => probe.close(() => resolve('the port could not be opened')));
  });
}

function reason({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return 'the port is in use';
  if (code === 'EACCES') return 'the port needs privileges this process does not have';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'the host is not an address of this machine';
  return message;
}
