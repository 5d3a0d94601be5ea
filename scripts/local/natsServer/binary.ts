import { runProgram } from './program.js';

export interface NatsBinary {
  readonly path: string;
  /** Such as `2.9.10`. */
  readonly version: string;
}

/** Older servers sync lazily, renumber streams that were restored, and let quotas be passed. */
export const OLDEST_VERSION = '2.12.0';
const ANSWER_MS = 10_000;

/** Asks the program for its version; undefined where it does not run or is not nats-server. */
export async function inspectBinary(path: string): Promise<NatsBinary | undefined> {
  const output = await runProgram(path, ['--version'], { timeoutMs: ANSWER_MS }).catch(() => '');
  const version = /nats-server: v(\d+\.\d+\.\d+)/.exec(output)?.[1];
  return version === undefined ? undefined : { path, version };
}

/** Compares `major.minor.patch`. */
export const isUsable = ({ version }: NatsBinary): boolean =>
  version.localeCompare(OLDEST_VERSION, 'en', { numeric: true }) >= 0;
