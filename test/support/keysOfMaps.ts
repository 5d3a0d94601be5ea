/** Collects the strings and numbers that become keys of maps and sets while `work` runs. */
export async function keysOfMaps(work: () => Promise<void>): Promise<(string | number)[]> {
  const seen = new Set<unknown>();
  const { get, set, has } = Map.prototype;
  const { add, has: hasMember } = Set.prototype;
  const note = (key: unknown): void => {
    if (typeof key === 'string' || typeof key === 'number') add.call(seen, key);
  };
  Object.assign(Map.prototype, {
    get(this: Map<unknown, unknown>, key: unknown): unknown {
      note(key);
      return get.call(this, key);
    },
    set(this: Map<unknown, unknown>, key: unknown, value: unknown): unknown {
      note(key);
      return set.call(this, key, value);
    },
    has(this: Map<unknown, unknown>, key: unknown): boolean {
      note(key);
      return has.call(this, key);
    },
  });
  Object.assign(Set.prototype, {
    add(this: Set<unknown>, key: unknown): unknown {
      note(key);
      return add.call(this, key);
    },
    has(this: Set<unknown>, key: unknown): boolean {
      note(key);
      return hasMember.call(this, key);
    },
  });
  try {
    await work();
  } finally {
    Object.assign(Map.prototype, { get, set, has });
    Object.assign(Set.prototype, { add, has: hasMember });
  }
  return [...seen] as (string | number)[];
}
