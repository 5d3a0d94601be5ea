/** What is checked before anything is started, so that the answer is one line and not the middle of a log. */
import { access } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Config } from '../../config/config.js';
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

/** A block: on a disk that is full an empty file can still be made. */
const PROBE = Buffer.alloc(4096);

/** Makes the folder where it is missing. Throws StartError where nothing can be written to it. */
export async function assertWritable(folder: string): Promise<void> {
  const probe = join(folder, `.writable-${process.pid}`);
  try {
    await makeDirectory(folder);
    await createFile(probe, PROBE);
    await deleteFile(probe);
  } catch (error) {
    throw new StartError(`the data folder ${folder} cannot be written ${writeRefusal(error)}`);
  }
}

function writeRefusal(error: unknown): string {
  const another = 'or set VOUCH_DATA_DIR to another one';
  switch (codeOf(error)) {
    case 'ENOTDIR':
      return `(a part of its path is a file); make it writable, ${another}`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `(its disk is full); make room, ${another}`;
    default:
      return `(${messageOf(error)}); make it writable, ${another}`;
  }
}

/** The folder that each mode makes and the other does not, and what runs in that mode. */
const HOMES = {
  cluster: { folder: 'nats', command: 'npm start' },
  standalone: { folder: 'registry', command: 'npm run standalone' },
} as const;

/**
 * Each mode numbers collections and makes the first key for itself: in one folder they would take each other's snapshots, saved
 * indexes and key file for their own. Throws StartError where the other mode is at home in the folder, and this one is not.
 */
export async function assertHome(dataDir: string, mode: Config['mode']): Promise<void> {
  const other = HOMES[mode === 'cluster' ? 'standalone' : 'cluster'];
  if ((await isThere(join(dataDir, HOMES[mode].folder))) || !(await isThere(join(dataDir, other.folder)))) return;
  throw new StartError(
    `the data folder ${dataDir} is that of ${other.command}, whose data this does not share; set VOUCH_DATA_DIR to another one`,
  );
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
