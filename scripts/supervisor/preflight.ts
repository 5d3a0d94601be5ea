/** What is checked before anything is started, so that the answer is one line and not the middle of a log. */
import { createServer } from 'node:net';
import { join } from 'node:path';
import { codeOf, createFile, deleteFile, makeDirectory } from '../../shared/durable.js';
import { messageOf } from '../../shared/errors.js';
import { StartError } from './startError.js';

/** The port to listen on: the one asked for, or a free one where that is 0. Throws StartError. */
export async function freePort(host: string, port: number): Promise<number> {
  const server = createServer();
  try {
    return await new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, exclusive: true }, () => {
        const address = server.address();
        resolve(typeof address === 'object' && address ? address.port : port);
      });
    });
  } catch (error) {
    throw new StartError(portRefusal(host, port, error));
  } finally {
    // Awaited: the port is free again only when the server is closed.
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

/** So many ports that nothing listens on now, each another one. */
export async function freePorts(host: string, count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort(host, 0));
  return [...ports];
}

function portRefusal(host: string, port: number, error: unknown): string {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is in use; stop what listens there, or set VOUCH_PORT to another one`;
    case 'EACCES':
      return `port ${port} may not be used by this user; set VOUCH_PORT to one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${host} is no address of this machine; set VOUCH_HOST to one that is, such as 127.0.0.1 or 0.0.0.0`;
    default:
      return `${host}:${port} cannot be listened on: ${messageOf(error)}`;
  }
}

/** Makes the folder where it is missing. Throws StartError where nothing can be written to it. */
export async function assertWritable(folder: string): Promise<void> {
  const probe = join(folder, `.writable-${process.pid}`);
  try {
    await makeDirectory(folder);
    await createFile(probe, '');
    await deleteFile(probe);
  } catch (error) {
    const why = codeOf(error) === 'ENOTDIR' ? 'a part of its path is a file' : messageOf(error);
    throw new StartError(
      `the data folder ${folder} cannot be written (${why}); make it writable, or set VOUCH_DATA_DIR to another one`,
    );
  }
}
