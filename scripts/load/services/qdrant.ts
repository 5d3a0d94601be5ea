/** A collection of Qdrant, by its REST interface: points in order of id, page by page. */
import { type RawRow, type Source, USUAL } from '../source.js';
import { askService, namedOrThrow } from './askService.js';

const PAGE_ROWS = 256;

interface Page {
  readonly result: {
    readonly points: readonly {
      readonly id: number | string;
      readonly payload?: Record<string, unknown> | null;
      readonly vector?: unknown;
    }[];
    readonly next_page_offset?: number | string | null;
  };
}

/** `key`: an API key, where the service asks for one. */
export function qdrantSource(url: string, collection: string, key: string | undefined): Source {
  const path = `${url}/collections/${encodeURIComponent(collection)}`;
  const headers: Record<string, string> = key === undefined ? {} : { 'api-key': key };
  let total: number | undefined;
  return {
    name: `${collection} of Qdrant`,
    usual: USUAL,
    expected: () => total,
    async *rows(): AsyncGenerator<RawRow> {
      const counted = await namedOrThrow(
        askService<{ result: { count: number } }>(`${path}/points/count`, headers, { exact: true }),
        `Qdrant has no collection ${collection}`,
      );
      total = counted.result.count;
      let number = 0;
      let offset: number | string | null | undefined;
      do {
        const wanted = { limit: PAGE_ROWS, with_payload: true, with_vector: true, ...(offset != null && { offset }) };
        const { result } = await askService<Page>(`${path}/points/scroll`, headers, wanted);
        for (const { id, payload, vector } of result.points)
          yield { number: ++number, fields: { id, ...payload, ...vectorsOf(vector) } };
        offset = result.next_page_offset;
      } while (offset !== undefined && offset !== null);
    },
  };
}

/** A point has one vector without a name, or several with one each. */
const vectorsOf = (vector: unknown): Record<string, unknown> =>
  Array.isArray(vector) ? { vector } : { ...(vector as object | undefined) };
