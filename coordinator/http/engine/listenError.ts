/** Finds out why a server cannot listen on an address. */
import { createServer } from 'node:net';

/** Repeats the attempt in Node, and returns its reason as an Error of one line. */
export function whyNotListening(host: string, port: number): Promise<Error> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error) => resolve(listenError(host, port, error)));
    probe.listen(port, host, () =>
      probe.close(() => resolve(listenError(host, port, new Error('the port could not be opened')))),
    );
  });
}

export const listenError = (host: string, port: number, error: NodeJS.ErrnoException): Error =>
  new Error(`cannot listen on ${host}:${port}: ${reason(error)}`);

function reason({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return 'the port is in use';
  if (code === 'EACCES') return 'the port needs privileges this process does not have';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'the host is not an address of this machine';
  return message;
}
