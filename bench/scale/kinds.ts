/** The processes of a cluster, by what they are: its shards are counted together. */
export const KINDS = ['coordinator', 'shards', 'nats-server'] as const;
export type Kind = (typeof KINDS)[number];

/** The sums of figures that processes have, by what they are called. */
export function byKind(figures: ReadonlyMap<string, number>): ReadonlyMap<Kind, number> {
  const sums = new Map<Kind, number>(KINDS.map((kind) => [kind, 0]));
  for (const [name, figure] of figures) {
    const kind = KINDS.find((one) => name.startsWith(one)) ?? 'shards';
    sums.set(kind, sums.get(kind)! + figure);
  }
  return sums;
}

/** What has come since, kind by kind. */
export const grown = (before: ReadonlyMap<Kind, number>, after: ReadonlyMap<Kind, number>): Map<Kind, number> =>
  new Map(KINDS.map((kind) => [kind, after.get(kind)! - before.get(kind)!]));
