/** Reads a collection of Chroma through its REST interface (v2), page by page. */
import { assertAllRead, type RawRow, type Source, USUAL } from '../source.js';
import { askService, namedOrThrow } from './askService.js';
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
      const include = ['embeddings', 'documents', 'metadatas'];
      let read = 0;
      for (let count = 1; count > 0; read += count) {
        const page = await askService<Page>(`${path}/get`, asking, { limit: PAGE_ROWS, offset: read, include });
        count = page.ids.length;
        for (const [i, own] of page.ids.entries()) {
          const fields = { id: own, text: page.documents[i], vector: page.embeddings[i] };
          yield { number: read + i + 1, fields: withOwn(fields, page.metadatas[i] ?? {}, 'metadata.') };
        }
      }
      assertAllRead(name, total, read);
    },
  };
}
