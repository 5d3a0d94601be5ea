/** The fields of a row of another service, which names some itself and leaves others to its users. */
import type { Fields } from '../source.js';

/**
 * All fields of both. A field of `others` with a name of `own` gets the prefix, until its name is free. For example, the `id` of
 * a payload must neither hide the id of its point nor be lost.
 */
export function withOwn(own: Fields, others: Fields, prefix: string): Fields {
  const taken = new Set([...Object.keys(own), ...Object.keys(others)]);
  const renamed = Object.entries(others).map(([name, value]) => {
    if (!Object.hasOwn(own, name)) return [name, value] as const;
    let free = prefix + name;
    while (taken.has(free)) free = prefix + free;
    taken.add(free);
    return [free, value] as const;
  });
  return Object.fromEntries([...Object.entries(own), ...renamed]);
}
