import { runProgram } from './program.js';

export interface NatsBinary {
  readonly path: string;
  /** Such as `2.9.10`. */
  readonly version: string;
}

/** Older servers have no direct reads of messages. */
export const OLDEST_VERSION = '2.9.0';
const ANSWER_MS = 10_000;

/** Asks the program for its version; undefined where it does not run or is not nats-server. */
export async function inspectBinary(path: string): Promise<NatsBinary | undefined> {
  const output = await runProgram(path, ['--version'], { timeoutMs: ANSWER_MS }).catch(() => '');
  const version = /nats-server: v(\d+\.\d+\.\d+)/.exec(output)?.[1];
  return version === undefined ? undefined : { path, version };
}

export const isUsable = ({ version }: NatsBinary): boolean => isAtLeast(version, OLDEST_VERSION);

/** Compares `major.minor.patch`. */
export const isAtLeast = (version: string, least: string): boolean =>
  version.localeCompare(least, 'en', { numeric: true }) >= 0;
