/** Detects versions of Node whose hashes of strings a client can predict. */

/** First version of each line that hashes strings of digits with a secret seed (CVE-2026-21717); from 26 on every version does. */
const SEEDED: Readonly<Record<number, string>> = { 20: '20.20.2', 22: '22.22.2', 24: '24.14.1', 25: '25.8.2' };
const SEEDED_MAJOR = 26;

/** Returns a warning about a version of Node such as `20.11.1`; undefined if its hashes have a seed. */
export function hashSeedWarning(version: string): string | undefined {
  const [major = 0, ...rest] = partsOf(version);
  const first = SEEDED[major];
  if (major >= SEEDED_MAJOR || (first !== undefined && isFrom(rest, partsOf(first).slice(1)))) return undefined;
  const wanted = first === undefined ? Object.values(SEEDED).join(', ') : first;
  return `Node ${version} hashes strings of digits without a secret seed, so any request can be made slow; install Node ${wanted} or later`;
}

const partsOf = (version: string): number[] => version.split('.').map((part) => Number.parseInt(part, 10));

const isFrom = (
  [minor = 0, patch = 0]: readonly number[],
  [minorFrom = 0, patchFrom = 0]: readonly number[],
): boolean => minor > minorFrom || (minor === minorFrom && patch >= patchFrom);
