/** Lock for one set-up at a time in a checkout: a file that names its holder, who refreshes it regularly. */
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const REFRESH_MS = 5_000;
/** Age of a stale lock, which a live holder would have refreshed: its process id belongs to another process now. */
const STALE_MS = 60_000;

/** Runs `work` with the lock. Calls `onWait` once with the holder that it waits for. */
export async function withLock(file, onWait, work) {
  mkdirSync(dirname(file), { recursive: true });
  for (let waited = 0; !take(file); waited++) {
    if (isStale(file)) breakLock(file);
    else if (waited === 0) onWait(holderOf(file));
    await sleep(100);
  }
  const refresh = setInterval(() => utimesSync(file, new Date(), new Date()), REFRESH_MS);
  try {
    return await work();
  } finally {
    clearInterval(refresh);
    rmSync(file, { force: true });
  }
}

/** Takes the lock. The file is written aside and linked, so that it appears whole. */
function take(file) {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, file);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(mine, { force: true });
  }
}

/** Removes a stale lock. Only one process at a time may try: otherwise one could remove another's new lock. */
function breakLock(file) {
  const breaking = `${file}.breaking`;
  if (!take(breaking)) {
    if (isStale(breaking)) rmSync(breaking, { force: true });
    return;
  }
  try {
    if (isStale(file)) rmSync(file, { force: true });
  } finally {
    rmSync(breaking, { force: true });
  }
}

function isStale(file) {
  try {
    return !isAlive(Number(holderOf(file))) || Date.now() - statSync(file).mtimeMs > STALE_MS;
  } catch {
    return false; // It was removed meanwhile.
  }
}

const holderOf = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

function isAlive(pid) {
  if (!(pid > 0)) return true; // It was removed between two looks.
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
