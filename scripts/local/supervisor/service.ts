/** Runs a command that serves until it is stopped by a signal. */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../../../config/config.js';
import { strayWarnings } from '../../../config/load.js';
import { messageOf } from '../../../shared/errors/errors.js';
import { deleteEmptyDirectory, ifThere, isThere } from '../../../shared/files/durable.js';
import { fileMessage } from '../../../shared/files/fileErrors.js';
import { releaseMemoryAtRest } from '../../../shared/process/memoryAtRest.js';
import { isDefect } from '../../terminal/commandLine.js';
import { say } from '../../terminal/line.js';
import { EXIT_INTERRUPTED, onSignals } from '../../terminal/signals.js';
import { type Welcome, welcome } from './welcome.js';

export interface Service {
  readonly config: Config;
  /** Resolves when everything serves. An aborted `signal` ends the start early, with any error. */
  start(signal: AbortSignal): Promise<Welcome>;
  /** Stops all started parts, also during a start or after a failed one. May be called again. */
  stop(): Promise<void>;
  /** Kills everything. */
  kill(): void;
}

/** Shows a service while it serves. */
export interface Show {
  /** Throws if the service cannot be shown; it is then stopped. */
  begin(up: Welcome): Promise<void>;
  /** Restores the terminal. May be called before `begin`. */
  end(): void;
}

/**
 * Starts the service and greets. Stops it at the first signal and exits with 0; kills it at a second one. A start that
 * fails prints one line and exits with 1.
 */
export async function runService(service: Service, show?: Show): Promise<void> {
  for (const warning of strayWarnings(process.env)) say('warning', 'settings', warning);
  const interrupted = new AbortController();
  onSignals(
    () => {
      interrupted.abort();
      show?.end();
      void stopAndExit(service);
    },
    () => {
      service.kill();
      process.exit(EXIT_INTERRUPTED);
    },
  );
  const { dataDir } = service.config;
  // An unreadable path is reported by the start itself.
  const made = await firstMissing(dataDir).catch(() => undefined);
  try {
    const up = await service.start(interrupted.signal);
    await welcome(up, service.config);
    releaseMemoryAtRest();
    if (!interrupted.signal.aborted) await show?.begin(up);
  } catch (error) {
    if (interrupted.signal.aborted) return;
    show?.end();
    say('failed', 'start', isDefect(error) ? (error.stack ?? error.message) : (fileMessage(error) ?? messageOf(error)));
    await service.stop();
    // An error is ignored, since the data folder itself may have failed.
    if (made !== undefined) await deleteUnused(made).catch(() => {});
    process.exit(1);
  }
}

async function stopAndExit(service: Service): Promise<void> {
  say('plain', 'stop', 'stopping, Ctrl-C again to kill …');
  try {
    await service.stop();
    say('done', 'stop', 'stopped');
    process.exit(0);
  } catch (error) {
    say('failed', 'stop', messageOf(error));
    service.kill();
    process.exit(1);
  }
}

/** Returns the uppermost folder of the path that is missing; undefined if none is. */
async function firstMissing(path: string): Promise<string | undefined> {
  if (await isThere(path)) return undefined;
  return (await firstMissing(dirname(path))) ?? path;
}

/** Deletes the folder with those in it, unless one has a file: another start has then begun there. */
async function deleteUnused(path: string): Promise<void> {
  const entries = (await ifThere(readdir(path, { recursive: true, withFileTypes: true }))) ?? [];
  if (entries.every((entry) => entry.isDirectory())) await deleteEmptyTree(path);
}

/** Deletes the folder if it is empty, after the empty folders in it. */
async function deleteEmptyTree(path: string): Promise<void> {
  const entries = (await ifThere(readdir(path, { withFileTypes: true }))) ?? [];
  for (const entry of entries) if (entry.isDirectory()) await deleteEmptyTree(join(path, entry.name));
  await deleteEmptyDirectory(path);
}
