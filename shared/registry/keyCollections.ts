/** The collections that a key may use: names, and prefixes followed by `*`. */

/** Largest number of names and prefixes of a key. */
export const KEY_COLLECTIONS_MAX = 64;

const NAME_OR_PREFIX = /^(?:[A-Za-z0-9_-]{1,64}|[A-Za-z0-9_-]{0,63}\*)$/;

/** Null: every collection of the project. */
export type KeyCollections = readonly string[] | null;

export const areKeyCollections = (collections: readonly unknown[]): collections is readonly string[] =>
  collections.length >= 1 &&
  collections.length <= KEY_COLLECTIONS_MAX &&
  collections.every((one) => typeof one === 'string' && NAME_OR_PREFIX.test(one));

/** Whether a key with these collections may use the collection of this name. */
export const mayUse = (collections: KeyCollections, name: string): boolean =>
  collections === null ||
  collections.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : one === name));
