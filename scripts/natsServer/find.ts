/** Finds a nats-server on this machine, or gets one into the project's cache. */
import { access, constants } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspectBinary, isUsable, type NatsBinary, OLDEST_VERSION } from './binary.js';
import { debianPackage } from './debianPackage.js';
import { homebrew } from './homebrew.js';
import { officialRelease } from './officialRelease.js';
import type { Source } from './source.js';

export interface FindOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Where servers that were fetched are kept. */
  readonly cacheDir?: string;
  /** Told before something is fetched, which may take a while. */
  readonly onFetch?: (from: string) => void;
  readonly sources?: readonly Source[];
}

const PROGRAM = 'nats-server';
// Three folders up: this runs as dist/scripts/natsServer/find.js.
const CACHE = fileURLToPath(new URL('../../../.cache/nats', import.meta.url));
/** Debian and Homebrew install here, which is not on everybody's PATH. */
const USUAL_FOLDERS = ['/usr/local/bin', '/usr/local/sbin', '/usr/bin', '/usr/sbin', '/opt/homebrew/bin'];
const SOURCES: readonly Source[] = [debianPackage, homebrew, officialRelease];

/** Throws an Error that says what was tried and what to do. */
export async function findNatsServer(options: FindOptions = {}): Promise<NatsBinary> {
  const { env = process.env, cacheDir = CACHE, sources = SOURCES } = options;
  if (env.VOUCH_NATS_SERVER) return named(env.VOUCH_NATS_SERVER);
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...USUAL_FOLDERS];
  const places = [
    ...folders.map((folder) => join(folder, PROGRAM)),
    ...sources.map((source) => source.path(cacheDir)).filter((path) => path !== undefined),
  ];
  for (const path of new Set(places)) {
    const found = await usableAt(path);
    if (found) return found;
  }
  return fetchFrom(sources, cacheDir, options.onFetch ?? (() => {}));
}

async function named(path: string): Promise<NatsBinary> {
  const found = await inspectBinary(resolve(path));
  if (!found) throw new Error(`VOUCH_NATS_SERVER is ${path}, which is not a nats-server that runs on this machine`);
  if (!isUsable(found))
    throw new Error(`VOUCH_NATS_SERVER is nats-server ${found.version}; allowed is ${OLDEST_VERSION} or newer`);
  return found;
}

async function usableAt(path: string): Promise<NatsBinary | undefined> {
  try {
    await access(path, constants.X_OK);
  } catch {
    return undefined;
  }
  const found = await inspectBinary(path);
  return found && isUsable(found) ? found : undefined;
}

async function fetchFrom(
  sources: readonly Source[],
  cacheDir: string,
  onFetch: (from: string) => void,
): Promise<NatsBinary> {
  const reasons: string[] = [];
  for (const source of sources) {
    const outcome = await source.fetch(cacheDir, () => onFetch(source.name));
    const found = 'path' in outcome ? await usableAt(outcome.path) : undefined;
    if (found) return found;
    reasons.push(`${source.name}: ${'path' in outcome ? 'what came does not run here' : outcome.reason}`);
  }
  throw new Error(
    `nats-server was not found and could not be fetched (${reasons.join('; ')}). Install nats-server ` +
      `${OLDEST_VERSION} or newer from https://nats.io/download, or set VOUCH_NATS_SERVER to one, or VOUCH_NATS_URL ` +
      'to a running one; `npm run standalone` needs none',
  );
}
