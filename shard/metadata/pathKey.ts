/**
 * Short keys for the paths of metadata. A path may be 64 KB long and have thousands of others below it. So it is folded
 * key by key: whenever it exceeds `PLAIN_CHARS_MAX` characters, its hash replaces it. A path below a long key costs
 * only its own part.
 */

import { escaped, hashedKey } from '../../shared/hashing/mapKey.js';
import { PATH_SEPARATOR } from '../../shared/model/filter.js';

const PLAIN_CHARS_MAX = 256;

/** Returns the key of a path that is written with dots. */
export const pathKey = (path: string): string => keyBelow(undefined, path);

/**
 * Returns the key of a path: `parent`, continued by a key of an object, which may contain dots. Without a parent it is
 * a path of the object itself.
 */
export function keyBelow(parent: string | undefined, key: string): string {
  const first = parent === undefined ? escaped(key) : parent + PATH_SEPARATOR + key;
  return first.length <= PLAIN_CHARS_MAX ? first : folded(parent, key);
}

/** Folds after each part between dots, so that `{"a.b": 1}` and `{"a": {"b": 1}}` have one path. */
function folded(parent: string | undefined, key: string): string {
  let path = parent;
  for (let from = 0; from <= key.length; ) {
    const dot = key.indexOf(PATH_SEPARATOR, from);
    const to = dot < 0 ? key.length : dot;
    const part = key.slice(from, to);
    path = path === undefined ? escaped(part) : path + PATH_SEPARATOR + part;
    if (path.length > PLAIN_CHARS_MAX) path = hashedKey(path);
    from = to + 1;
  }
  return path!;
}
