/** Checks before the start of any process, so that a problem is one line. All throw an Error of one line. */
import { join } from 'node:path';
import type { Config } from '../../../config/config.js';
import { messageOf } from '../../../shared/errors/errors.js';
import { codeOf, createFile, deleteFile, isThere, makeDirectory } from '../../../shared/files/durable.js';
import { commandText } from '../../../shared/process/commandText.js';
import { probePort, reservePort } from '../port.js';

/** Returns the port to listen on: `port`, which is then reserved among starts, or a free one if that is 0. */
export async function freePort(host: string, port: number): Promise<number> {
  try {
    if (port !== 0) await reservePort(host, port);
    return await probePort(host, port);
  } catch (error) {
    throw new Error(portRefusal(host, port, error));
  }
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
      return `${host} is not an address of this machine; set VOUCH_HOST to one that is, such as 127.0.0.1 or 0.0.0.0`;
    default:
      return `${host}:${port} cannot be listened on: ${messageOf(error)}`;
  }
}

/** One block, since an empty file can be made even on a full disk. */
const PROBE = Buffer.alloc(4096);

/** Makes a missing folder, and writes to it. */
export async function assertWritable(folder: string): Promise<void> {
  const probe = join(folder, `.writable-${process.pid}`);
  try {
    await makeDirectory(folder);
    await createFile(probe, PROBE);
    await deleteFile(probe);
  } catch (error) {
    const [cause, remedy] = writeRefusal(error);
    throw new Error(
      `the data folder ${folder} cannot be written (${cause}); ${remedy}, or set VOUCH_DATA_DIR to another one`,
    );
  }
}

function writeRefusal(error: unknown): readonly [cause: string, remedy: string] {
  const code = codeOf(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') return ['its disk is full', 'make room'];
  if (code === 'ENOTDIR') return ['a part of its path is a file', 'name a folder there'];
  return [code === 'EACCES' || code === 'EPERM' ? 'this user may not' : messageOf(error), 'make it writable'];
}

/** The folder that each mode makes and the other does not, and the command of that mode. */
const HOMES = {
  cluster: { folder: 'nats', command: commandText('start') },
  standalone: { folder: 'registry', command: commandText('standalone') },
} as const;

/**
 * Refuses a data folder of the other mode. Each mode numbers collections and makes the first key itself. In one folder each would
 * take the other's snapshots, indexes and key file for its own.
 */
export async function assertHome(dataDir: string, mode: Config['mode']): Promise<void> {
  const other = HOMES[mode === 'cluster' ? 'standalone' : 'cluster'];
  if ((await isThere(join(dataDir, HOMES[mode].folder))) || !(await isThere(join(dataDir, other.folder)))) return;
  throw new Error(
    `the data folder ${dataDir} is that of ${other.command}, whose data this does not share; set VOUCH_DATA_DIR to another one`,
  );
}
