import { runProgram } from './program.js';

export interface NatsBinary {
  readonly path: string;
  /** As `2.9.10`. */
  readonly version: string;
}

/** Older servers have no direct reads of messages. */
export const OLDEST_VERSION = '2.9.0';
const ANSWER_MS = 10_000;

/** Asks the program what it is; undefined where it cannot be run or is something else. */
export async function inspectBinary(path: string): Promise<NatsBinary | undefined> {
  const { ok, output } = await runProgram(path, ['--version'], { timeoutMs: ANSWER_MS });
  const version = ok ? /nats-server: v(\d+\.\d+\.\d+)/.exec(output)?.[1] : undefined;
  return version === undefined ? undefined : { path, version };
}

export const isUsable = ({ version }: NatsBinary): boolean => isAtLeast(version, OLDEST_VERSION);

/** Compares `major.minor.patch`. */
export function isAtLeast(version: string, least: string): boolean {
  const [a, b] = [version, least].map((text) => text.split('.').map(Number));
  for (let i = 0; i < 3; i++) if (a![i] !== b![i]) return a![i]! > b![i]!;
  return true;
}
