/** Entries of the catalog by project and name, each with its newest revision that this process knows. */
export interface Revised<T> {
  readonly value: T;
  readonly revision: number;
}

export class EntriesByName<T> {
  /** Project → name → entry. No map is empty. */
  readonly #projects = new Map<string, Map<string, Revised<T>>>();

  get(project: string, name: string): Revised<T> | undefined {
    return this.#projects.get(project)?.get(name);
  }

  count(project: string): number {
    return this.#projects.get(project)?.size ?? 0;
  }

  /** The entries of a project, sorted by name. */
  of(project: string): T[] {
    const names = [...(this.#projects.get(project) ?? [])];
    return names.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { value }]) => value);
  }

  /** Keeps the entry, unless a newer revision is known. Returns whether it is kept. */
  set(key: string, value: T, revision: number): boolean {
    const [project, name] = partsOf(key);
    let names = this.#projects.get(project);
    if (names === undefined) {
      names = new Map();
      this.#projects.set(project, names);
    }
    const before = names.get(name);
    // The watch may be behind the writes of this process.
    if (before !== undefined && before.revision > revision) return false;
    names.set(name, { value, revision });
    return true;
  }

  /** Removes and returns the entry, unless its revision is above `upTo`. */
  delete(key: string, upTo = Number.POSITIVE_INFINITY): T | undefined {
    const [project, name] = partsOf(key);
    const names = this.#projects.get(project);
    const known = names?.get(name);
    if (names === undefined || known === undefined || known.revision > upTo) return undefined;
    names.delete(name);
    if (names.size === 0) this.#projects.delete(project);
    return known.value;
  }
}

function partsOf(key: string): [project: string, name: string] {
  const dot = key.indexOf('.');
  return [key.slice(0, dot), key.slice(dot + 1)];
}
