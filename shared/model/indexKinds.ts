/** The kinds of index: the only list of them. The types of the API and of the client, metrics and tests read it. */
export const INDEX_KINDS = ['hnsw', 'ivf', 'bq'] as const;
export type IndexKind = (typeof INDEX_KINDS)[number];
