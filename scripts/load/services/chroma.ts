/** Reads a collection of Chroma through its REST interface (v2), page by page. */
import { assertAllRead, assertNoMore, type RawRow, type Source, USUAL } from '../source.js';
import { askService, assertAnswer, namedOrThrow } from './askService.js';
import { withOwn } from './ownFields.js';

const PAGE_ROWS = 256;
const DATABASE = 'api/v2/tenants/default_tenant/databases/default_database/collections';

interface Page {
  readonly ids: readonly string[];
  readonly embeddings: readonly unknown[];
  readonly documents: readonly (string | null)[];
  readonly metadatas: readonly (Record<string, unknown> | null)[];
}

/** `key`: the token, if the service requires one. */
export function chromaSource(url: string, collection: string, key: string | undefined): Source {
  const headers: Record<string, string> = key === undefined ? {} : { 'x-chroma-token': key };
  let total: number | undefined;
  const name = `${collection} of Chroma`;
  return {
    name,
    usual: USUAL,
    expected: () => total,
    async *rows(signal): AsyncGenerator<RawRow> {
      const asking = { headers, signal };
      const found = `${url}/${DATABASE}/${encodeURIComponent(collection)}`;
      const { id } = await namedOrThrow(
        askService<{ id: string }>(found, asking),
        `Chroma has no collection ${collection}`,
      );
      const path = `${url}/${DATABASE}/${id}`;
      total = await askService<number>(`${path}/count`, asking);
      assertAnswer(typeof id === 'string' && Number.isSafeInteger(total), name);
      const include = ['embeddings', 'documents', 'metadatas'];
      let read = 0;
      for (let count = 1; count > 0; read += count) {
        const page = await askService<Page>(`${path}/get`, asking, { limit: PAGE_ROWS, offset: read, include });
        const { ids, embeddings, documents, metadatas } = page;
        const isWhole = [embeddings, documents, metadatas].every((list) => list?.length === ids?.length);
        assertAnswer(Array.isArray(ids) && isWhole, name);
        count = ids.length;
        assertNoMore(name, total, read + count);
        for (const [i, own] of ids.entries()) {
          const fields = { id: own, text: documents[i], vector: embeddings[i] };
          yield { number: read + i + 1, fields: withOwn(fields, metadatas[i] ?? {}, 'metadata.') };
        }
      }
      assertAllRead(name, total, read);
    },
  };
}
