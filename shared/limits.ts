/** Fixed limits of the contract. Limits that an operator may change are in `config/`. */

/** The stored integer of a component of 1 in a collection that keeps the lengths of vectors. */
export const FIXED_ONE = 65_536;
/** The stored integer of a component of 1 in a collection that divides vectors by their length. */
export const UNIT_ONE = 2 ** 20;
/** Allowed components: MIN <= v <= MAX; everything in between rounds into an i32. */
export const VALUE_MIN = -32_768;
export const VALUE_MAX = 32_767.99998;
export const DIMENSION_MAX = 32_768;
export const K_MAX = 5_000;
/** Records of one page, ids of one request, and values of one facet. */
export const RECORDS_MAX = 1_000;
/** UTF-8 bytes of all values in one answer of `/v1/facets`. */
export const FACET_BYTES_MAX = 2 * 1024 * 1024;
/** Hits of one answer: of the groups of a search, and of the searches of a batch. */
export const HITS_MAX = 4 * K_MAX;
export const GROUP_SIZE_MAX = 100;
export const BATCHED_SEARCHES_MAX = 256;
/** Latest time of an event, unix milliseconds: the last instant of a date in ECMAScript. */
export const TIME_MAX_MS = 8_640_000_000_000_000;
/** Latest expiry of a record, the last second of the year 9999: later seconds are milliseconds by mistake. */
export const EXPIRES_AT_MAX = 253_402_300_799;
/** Longest life of the records of a collection, a hundred years. */
export const TTL_SECS_MAX = 3_155_760_000;
/** Longest time for which entries of an access log are kept: a hundred years. */
export const ACCESS_RETENTION_DAYS_MAX = 36_500;
export const REQUEST_ID_BYTES = 16;
/** UTF-8 of the id that a caller gives a record. */
export const EXTERNAL_ID_MAX_BYTES = 256;
/** Records of one batch, and ids of one deletion. */
export const BATCH_MAX = 16_384;
/** Records that one deletion by a filter may match. */
export const DELETED_MAX = 65_536;
/** Keys of one request for certificates of erasure. */
export const ERASED_KEYS_MAX = 1_000;
/** Events whose content was under the keys of one such request: its answer takes about 2 KiB for each. */
export const ERASED_CONTENTS_MAX = 10_000;
/** Events of one page of their proofs. */
export const ERASED_PAGE = 256;
/** Records whose metadata one request may change by a filter. */
export const PATCHED_MAX = 65_536;
export const HASH_BYTES = 32;
export const KEY_ID_BYTES = 16;
/** Nonce and tag of AES-256-GCM in every encrypted record. */
export const NONCE_BYTES = 12;
export const GCM_TAG_BYTES = 16;
/** Largest depth of nesting in metadata and filters. */
export const JSON_DEPTH_MAX = 64;
/** UTF-8 bytes of a key of any JSON object, as it is written. */
export const JSON_KEY_MAX_BYTES = 1_024;
/** Arrays, objects and strings, also keys, in all JSON of one request. */
export const JSON_PIECES_MAX = 1_500_000;
/** Members of all objects in the JSON of one request: 30 for each record of the largest batch. */
export const JSON_MEMBERS_MAX = 500_000;
/** Different keys in the JSON of one request: V8 takes some two microseconds for each. */
export const JSON_KEYS_MAX = 100_000;
/** Tests and empty filters in one metadata filter: on numbers each takes a millisecond or two for a million records. */
export const FILTER_CONDITIONS_MAX = 128;
/** Values of all `in` and `nin` of one metadata filter, and members of its arrays and objects. */
export const FILTER_VALUES_MAX = 4_096;
/** Hits of a search with diversity: each is compared with 20 candidates per hit. */
export const DIVERSE_MAX = 100;
/** Conditions with `contains` or `words`. Each reads all strings at its path, or all postings of its words. */
export const FILTER_CONTAINS_MAX = 16;
/** UTF-8 bytes of the words of one condition. */
export const FILTER_WORDS_BYTES_MAX = 4_096;
/** UTF-8 bytes of all keys and strings in one metadata filter: 16 times the largest metadata. */
export const FILTER_BYTES_MAX = 1024 * 1024;
/** Bounds of all filters of a batch of searches together: 4 conditions and 64 values for each of 256 searches. */
export const BATCH_CONDITIONS_MAX = 1_024;
export const BATCH_VALUES_MAX = 16_384;
export const BATCH_CONTAINS_MAX = 4 * FILTER_CONTAINS_MAX;
export const BATCH_FILTER_BYTES_MAX = FILTER_BYTES_MAX;
/** UTF-8 bytes of all query texts in a batch of searches. A single text may be longer if the operator allows it. */
export const BATCH_TEXT_BYTES_MAX = 1024 * 1024;
