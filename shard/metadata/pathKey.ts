/**
 * The keys under which the paths of metadata are held. A path may be 64 KB long and have thousands of others below it. It is
 * therefore folded, key by key: as soon as it takes more than `PLAIN_CHARS_MAX` characters, its hash takes its place. A path
 * below a long key so costs only what it adds. No key is as long as the strings that V8 hashes by their length alone, which
 * have more than 16,383 characters.
 */

import { textDigest } from '../../shared/hashing/mapKey.js';
import { textKey } from '../../shared/hashing/textTable.js';
import { PATH_SEPARATOR } from '../../shared/model/filter.js';

const PLAIN_CHARS_MAX = 256;
/** Begins a folded path, and no other: see `textKey`. */
const MARK = '\0';

/** The key of a path as it is written, with dots. */
export const pathKey = (path: string): string => keyBelow(undefined, path);

/** The key of the path that continues `parent` with a key of an object, which may hold dots; undefined: the object itself. */
export function keyBelow(parent: string | undefined, key: string): string {
  const first = parent === undefined ? textKey(key) : parent + PATH_SEPARATOR + key;
  return first.length <= PLAIN_CHARS_MAX ? first : folded(parent, key);
}

/** Folds after each part between dots, so that `{"a.b": 1}` and `{"a": {"b": 1}}` have one path. */
function folded(parent: string | undefined, key: string): string {
  let path = parent;
  for (let from = 0; from <= key.length; ) {
    const dot = key.indexOf(PATH_SEPARATOR, from);
    const to = dot < 0 ? key.length : dot;
    const part = key.slice(from, to);
    path = path === undefined ? textKey(part) : path + PATH_SEPARATOR + part;
    if (path.length > PLAIN_CHARS_MAX) path = MARK + textDigest(path);
    from = to + 1;
  }
  return path!;
}
