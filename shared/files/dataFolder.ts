/**
 * Closes the data folder to other users at start. Closing the folder itself protects its content. Vouch's folders in it are closed
 * too, since one may be moved elsewhere. Key files keep their modes: a key that others can read is refused when it is read. A
 * folder that also holds something else, such as `/srv`, stays as it is, since others may use it.
 */
import type { Dirent, Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { closeToOthers, codeOf, OTHERS_MODE, STRANGERS_MODE } from './durable.js';

/** The mode bit of folders that all users share. */
const STICKY = 0o1000;
/** The group of root. Containers put every user in it, so their volumes give this group access. */
const ROOT_GROUP = 0;

/** Names that services make in a data folder, and the folder that some file systems begin with. */
const OWN =
  /^(?:cluster|collections|indexes|keys|logs|names|nats|registry|service-log|snapshots|vault|lock|runtime\.json|.+\.key|.+\.note|\..+\.tmp|lost\+found)$/;

const shown = (mode: number): string => `0${mode.toString(8)}`;

/**
 * Returns a message for the log if a folder was open to others. Throws an Error of one line if all users share the folder.
 */
export async function closeDataFolder(dataDir: string): Promise<string | undefined> {
  const folder = await realpath(dataDir);
  const found = await stat(folder);
  const mode = found.mode & 0o7777;
  if ((mode & STICKY) !== 0 && (mode & OTHERS_MODE) !== 0)
    throw new Error(
      `the data folder ${dataDir} is shared by all users of this machine (mode ${shown(mode)}); set VOUCH_DATA_DIR to a folder of its own`,
    );
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const other = entries.find(({ name }) => !OWN.test(name));
    const was = isVolume(found) || other !== undefined ? undefined : await closeToOthers(folder);
    const closed = await closeFoldersOf(entries, folder);
    if (other !== undefined && (mode & STRANGERS_MODE) !== 0)
      return `the data folder ${dataDir} stays open to other users of this machine (mode ${shown(mode)}), because it holds other files (${other.name}); set VOUCH_DATA_DIR to a folder of its own`;
    if (was !== undefined)
      return `the data folder ${dataDir} was open to other users of this machine (mode ${shown(was)}); it is closed now (mode 0700)`;
    return closed.length === 0
      ? undefined
      : `the data folder ${dataDir} had folders that were open to other users (${closed.join(', ')}); they are closed now (mode 0700)`;
  } catch (error) {
    // The folder belongs to another user; files made in it are closed all the same.
    return `the data folder ${dataDir} is open to other users of this machine (mode ${shown(mode)}) and cannot be closed (${codeOf(error) ?? String(error)}); make it this user's, with mode 0700`;
  }
}

/** Whether the folder looks like a container's volume: it belongs to another user, and at most root's group has access. */
const isVolume = ({ uid, gid, mode }: Stats): boolean =>
  uid !== process.getuid?.() && gid === ROOT_GROUP && (mode & STRANGERS_MODE) === 0;

/** Closes Vouch's folders in the data folder. Returns the names and old modes of those that were open. */
async function closeFoldersOf(entries: readonly Dirent[], folder: string): Promise<string[]> {
  const closed: string[] = [];
  for (const { name } of entries.filter((entry) => entry.isDirectory() && OWN.test(entry.name))) {
    const was = await closeToOthers(join(folder, name));
    if (was !== undefined) closed.push(`${name} ${shown(was)}`);
  }
  return closed;
}
