/** Finds the service and the key of a command. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Config } from '../../config/config.js';
import { ifThere } from '../../shared/files/durable.js';
import { ACTOR_TEXT_MAX, isVisibleAscii } from '../../shared/model/actor.js';
import { nothingRunsOn, readRuntime } from '../local/supervisor/runtimeFile.js';
import { defaultKeyFile } from '../local/supervisor/welcome.js';
import { callersFolder, UsageError } from '../terminal/commandLine.js';

const TEXT = { type: 'string' } as const;
/** The flags of a command that calls a service. */
export const SERVICE_OPTIONS = { url: TEXT, key: TEXT, 'on-behalf-of': TEXT } as const;

interface ServiceFlags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly 'on-behalf-of'?: string | undefined;
}

/** The service in the flags; `url` undefined: the service on the data folder. Throws UsageError. */
export function namedService({ url, key, 'on-behalf-of': onBehalfOf }: ServiceFlags) {
  if (url !== undefined && !/^https?:\/\/[^/@]+\/?$/.test(url))
    throw new UsageError(`--url is ${url}; allowed is an address such as http://127.0.0.1:8080`);
  if (onBehalfOf !== undefined && !isVisibleAscii(onBehalfOf, ACTOR_TEXT_MAX))
    throw new UsageError(`--on-behalf-of takes 1 to ${ACTOR_TEXT_MAX} visible ASCII characters`);
  return { url: url?.replace(/\/$/, ''), key: key ?? (process.env.VOUCH_KEY || undefined), onBehalfOf };
}

const VISIBLE = /^[\x21-\x7e]+$/;

export const pathOf = (path: string): string => resolve(callersFolder(), path);

export interface ServiceTarget {
  readonly url: string;
  readonly key: string;
  /** For whom the calls are made; see the header `Vouch-On-Behalf-Of`. */
  readonly onBehalfOf?: string | undefined;
}

/**
 * Finds the service and the key to use. Without an address it is the service on the data folder, with the key saved there, which is
 * used for no other service. Throws an Error of one line.
 */
export async function findTarget(wanted: ReturnType<typeof namedService>, { dataDir }: Config): Promise<ServiceTarget> {
  const running = (await readRuntime(dataDir))?.url ?? undefined;
  const url = wanted.url ?? running;
  if (url === undefined) throw await nothingRunsOn(dataDir, "give the service's address as --url");
  const key = wanted.key ?? (url === running ? await savedKey(dataDir) : undefined);
  if (key === undefined) throw new Error(`${url} needs an API key: give it as --key, or in VOUCH_KEY`);
  // Checked here, since the error of fetch would quote the whole key.
  if (!VISIBLE.test(key)) throw new Error('the API key has invalid characters');
  return { url, key, onBehalfOf: wanted.onBehalfOf };
}

const savedKey = async (dataDir: string): Promise<string | undefined> =>
  (await ifThere(readFile(defaultKeyFile(dataDir), 'utf8')))?.trim();
