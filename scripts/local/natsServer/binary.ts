/** A program of nats-server on this machine, and its version. */
import { isRecentEnough } from '../../../shared/nats/serverVersion.js';
import { runProgram } from './program.js';

export interface NatsBinary {
  readonly path: string;
  /** Such as `2.15.1`. */
  readonly version: string;
}

const ANSWER_MS = 10_000;

/** Asks the program for its version; undefined if it does not run or is not nats-server. */
export async function inspectBinary(path: string): Promise<NatsBinary | undefined> {
  const output = await runProgram(path, ['--version'], { timeoutMs: ANSWER_MS }).catch(() => '');
  const version = /nats-server: v(\d+\.\d+\.\d+)/.exec(output)?.[1];
  return version === undefined ? undefined : { path, version };
}

export const isUsable = ({ version }: NatsBinary): boolean => isRecentEnough(version);
