/** The hits of two searches side by side. */
import type { SearchHit, TextHit } from '../../coordinator/contract/search.js';

export interface Compared {
  /** Ids of the hits of both searches. */
  readonly both: ReadonlySet<number>;
  readonly onlyFirst: readonly number[];
  readonly onlySecond: readonly number[];
}

type Hit = Pick<SearchHit | TextHit, 'id'>;

export function compare(first: readonly Hit[], second: readonly Hit[]): Compared {
  const [one, other] = [first, second].map((hits) => new Set(hits.map(({ id }) => id))) as [Set<number>, Set<number>];
  return {
    both: new Set([...one].filter((id) => other.has(id))),
    onlyFirst: [...one].filter((id) => !other.has(id)),
    onlySecond: [...other].filter((id) => !one.has(id)),
  };
}
