/** A collection of Chroma, by its REST interface (v2), page by page. */
import { type RawRow, type Source, USUAL } from '../source.js';
import { askService, namedOrThrow } from './askService.js';

const PAGE_ROWS = 256;
const DATABASE = 'api/v2/tenants/default_tenant/databases/default_database/collections';

interface Page {
  readonly ids: readonly string[];
  readonly embeddings: readonly unknown[];
  readonly documents: readonly (string | null)[];
  readonly metadatas: readonly (Record<string, unknown> | null)[];
}

/** `key`: a token, where the service asks for one. */
export function chromaSource(url: string, collection: string, key: string | undefined): Source {
  const headers: Record<string, string> = key === undefined ? {} : { 'x-chroma-token': key };
  let total: number | undefined;
  return {
    name: `${collection} of Chroma`,
    usual: USUAL,
    expected: () => total,
    async *rows(): AsyncGenerator<RawRow> {
      const found = `${url}/${DATABASE}/${encodeURIComponent(collection)}`;
      const { id } = await namedOrThrow(
        askService<{ id: string }>(found, headers),
        `Chroma has no collection ${collection}`,
      );
      const path = `${url}/${DATABASE}/${id}`;
      total = await askService<number>(`${path}/count`, headers);
      const include = ['embeddings', 'documents', 'metadatas'];
      for (let offset = 0; offset < total; ) {
        const page = await askService<Page>(`${path}/get`, headers, { limit: PAGE_ROWS, offset, include });
        if (page.ids.length === 0) return;
        for (const [i, own] of page.ids.entries())
          yield {
            number: offset + i + 1,
            fields: { id: own, ...page.metadatas[i], text: page.documents[i], vector: page.embeddings[i] },
          };
        offset += page.ids.length;
      }
    },
  };
}
