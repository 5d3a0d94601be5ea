/** Kinds of processes of a cluster; all shards count together. */
export const KINDS = ['coordinator', 'shards', 'nats-server'] as const;
export type Kind = (typeof KINDS)[number];

/** Sums figures of processes, by name, to figures of kinds. */
export function byKind(figures: ReadonlyMap<string, number>): ReadonlyMap<Kind, number> {
  const sums = new Map<Kind, number>(KINDS.map((kind) => [kind, 0]));
  for (const [name, figure] of figures) {
    const kind = KINDS.find((one) => name.startsWith(one)) ?? 'shards';
    sums.set(kind, sums.get(kind)! + figure);
  }
  return sums;
}

/** The growth of each kind's figure. */
export const grown = (before: ReadonlyMap<Kind, number>, after: ReadonlyMap<Kind, number>): Map<Kind, number> =>
  new Map(KINDS.map((kind) => [kind, after.get(kind)! - before.get(kind)!]));
