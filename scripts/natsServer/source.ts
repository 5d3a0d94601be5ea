/** Where a nats-server can be fetched from. */

export interface Source {
  readonly name: string;
  /** Where a fetch leaves the server; undefined where this source installs it outside of the cache. */
  path(cacheDir: string): string | undefined;
  /** Calls `onStart` only if there is something to do. Never throws. */
  fetch(cacheDir: string, onStart: () => void): Promise<Fetched>;
}

export type Fetched = { readonly path: string } | { readonly reason: string };
