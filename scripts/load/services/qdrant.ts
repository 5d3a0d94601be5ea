/** Reads a collection of Qdrant through its REST interface: points in order of id, page by page. */
import { assertAllRead, assertNoMore, type Fields, type RawRow, type Source, USUAL } from '../source.js';
import { askService, assertAnswer, namedOrThrow } from './askService.js';
import { withOwn } from './ownFields.js';

const PAGE_ROWS = 256;

interface Page {
  readonly result: {
    readonly points: readonly {
      readonly id: number | bigint | string;
      readonly payload?: Record<string, unknown> | null;
      readonly vector?: unknown;
    }[];
    readonly next_page_offset?: number | bigint | string | null;
  };
}

/** `key`: the API key, if the service requires one. */
export function qdrantSource(url: string, collection: string, key: string | undefined): Source {
  const path = `${url}/collections/${encodeURIComponent(collection)}`;
  const headers: Record<string, string> = key === undefined ? {} : { 'api-key': key };
  let total: number | undefined;
  const name = `${collection} of Qdrant`;
  return {
    name,
    usual: USUAL,
    expected: () => total,
    async *rows(signal): AsyncGenerator<RawRow> {
      const asking = { headers, signal };
      const counted = await namedOrThrow(
        askService<{ result: { count: number } }>(`${path}/points/count`, asking, { exact: true }),
        `Qdrant has no collection ${collection}`,
      );
      total = counted.result?.count;
      assertAnswer(Number.isSafeInteger(total), name);
      let number = 0;
      let offset: number | bigint | string | null | undefined;
      do {
        const wanted = { limit: PAGE_ROWS, with_payload: true, with_vector: true, ...(offset != null && { offset }) };
        const { result } = await askService<Page>(`${path}/points/scroll`, asking, wanted);
        assertAnswer(Array.isArray(result?.points) && (offset == null || result.next_page_offset !== offset), name);
        for (const { id, payload, vector } of result.points) {
          assertNoMore(name, total, ++number);
          yield { number, fields: withOwn({ id, ...vectorsOf(vector) }, payload ?? {}, 'payload.') };
        }
        offset = result.next_page_offset;
      } while (offset !== undefined && offset !== null);
      assertAllRead(name, total, number);
    },
  };
}

/** The vectors of a point as fields: one without a name, or several with names, which may equal those of its id or text. */
function vectorsOf(vector: unknown): Fields {
  if (Array.isArray(vector)) return { vector };
  const named = Object.entries((vector ?? {}) as Fields);
  return Object.fromEntries(named.map(([name, item]) => [RESERVED.has(name) ? `vector.${name}` : name, item]));
}

const RESERVED = new Set(['id', ...USUAL.text]);
