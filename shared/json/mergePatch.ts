/** JSON merge patches (RFC 7396). */

/** A parsed JSON object. */
interface Members {
  readonly [key: string]: unknown;
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the target with the patch applied. An object changes the members that it names, and removes those that it sets to null.
 * Any other value replaces the target. Keeps the order of the members; new ones follow. It is as deep as the deeper of the two.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMembers(patch)) return patch;
  // A map and `fromEntries`, so that `__proto__` is a key like any other.
  const members = new Map(Object.entries(isMembers(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key);
    else members.set(key, mergePatch(members.get(key), value));
  }
  return Object.fromEntries(members);
}
