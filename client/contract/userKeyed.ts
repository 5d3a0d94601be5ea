/** Made from coordinator/contract by `npm run docs`. */

/** Fields of requests and answers whose values have keys that the caller chose. */
export const USER_KEYED: ReadonlySet<string> = new Set(['metadata', 'metadata_filter', 'sequences']);
