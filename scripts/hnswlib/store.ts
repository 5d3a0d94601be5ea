/** The folder that `HNSWLib` of LangChain.js saves: an index with labels of documents, the documents, and the metric. */

export const SPACES = ['l2', 'ip', 'cosine'] as const;
export type Space = (typeof SPACES)[number];

export const isSpace = (value: unknown): value is Space => (SPACES as readonly unknown[]).includes(value);

export const STORE_FILES = { index: 'hnswlib.index', documents: 'docstore.json', args: 'args.json' } as const;

/** The content of `args.json`. A store that was loaded and saved again has additional fields. */
export interface StoreArgs {
  readonly space: Space;
  readonly numDimensions: number;
}

/** An entry of `docstore.json`: a label, and its document. */
export type StoreEntry = readonly [label: string, document: StoredDocument];

export interface StoredDocument {
  readonly pageContent: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly id?: string;
}
