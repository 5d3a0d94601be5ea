/** The greeting of a started service: its address, its first key, and a command to paste. */
import { join, relative } from 'node:path';
import type { BucketRate, Config, RateLimits } from '../../../config/config.js';
import type { Bucket } from '../../../shared/bucket/bucket.js';
import { systemClock, systemEntropy } from '../../../shared/clock.js';
import { isThere, makeDirectory, move, replaceFile } from '../../../shared/files/durable.js';
import { createKey, listKeys } from '../../../shared/registry/keys.js';
import { callersFolder, commandText } from '../../terminal/commandLine.js';
import { say } from '../../terminal/line.js';

export const defaultKeyFile = (dataDir: string): string => join(dataDir, 'keys', 'default.key');

/**
 * Makes a key for the project `default` in a service without keys, saves it, readable only by its owner, and returns it. A saved key
 * of another service, which cannot be recovered, is moved to `default.key.<time in ms>`.
 */
export async function makeFirstKey(bucket: Bucket, dataDir: string): Promise<string | undefined> {
  if ((await listKeys(bucket)).length > 0) return undefined;
  const wanted = { project: 'default', scope: 'read_write', label: 'made at the first start' } as const;
  const { key } = await createKey(bucket, wanted, systemClock, systemEntropy);
  const file = defaultKeyFile(dataDir);
  await makeDirectory(join(dataDir, 'keys'));
  await move(file, `${file}.${systemClock.nowMs()}`);
  await replaceFile(file, `${key}\n`);
  return key;
}

export interface Welcome {
  readonly url: string;
  readonly dataDir: string;
  /** The key made at this start, if any. */
  readonly newKey: string | undefined;
  /** The public key of its checkpoints: 64 hex digits. */
  readonly signingKey: string;
}

export async function welcome({ url, dataDir, newKey, signingKey }: Welcome, { rateLimits }: Config): Promise<void> {
  const keyFile = await shownKeyFile(dataDir);
  process.stderr.write('\n');
  say('plain', 'Vouch', url);
  say('plain', 'console', `${url}/console`);
  if (newKey) say('plain', 'API key', `${newKey}  (shown this once)`);
  if (keyFile) {
    say('plain', 'key file', keyFile);
    say('plain', 'try', curlLine(url, keyFile).join(' '));
  } else {
    say('plain', 'API key', commandText('keys', 'create --project default --scope read_write'));
  }
  say('plain', 'limits', limitsText(rateLimits));
  say('plain', 'signs with', `${signingKey}  (public key of its checkpoints)`);
  say('plain', 'stop', 'Ctrl-C');
}

function limitsText(limits: RateLimits): string {
  const rates = limits === 'off' ? 'off' : limits.default;
  if (rates === 'off') return 'none';
  const { read, write } = rates;
  const each = (name: string, { perMinute, burst }: BucketRate): string =>
    `${perMinute} ${name} a minute (${burst} at once)`;
  return `${each('reads', read)}, ${each('writes', write)} a project; VOUCH_RATE_LIMITS=off lifts them`;
}

/** The path of the first key, from the person's folder; undefined without a saved key. */
export async function shownKeyFile(dataDir: string): Promise<string | undefined> {
  const path = defaultKeyFile(dataDir);
  if (!(await isThere(path))) return undefined;
  const fromHere = relative(callersFolder(), path);
  return fromHere.length < path.length && !fromHere.startsWith('..') ? fromHere : path;
}

/** A command to paste, in two parts that are joined by a space. */
export const curlLine = (url: string, keyFile: string): readonly [string, string] => [
  `curl -s ${url}/v1/namespaces`,
  `-H "Authorization: Bearer $(cat ${quoted(keyFile)})"`,
];

const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
