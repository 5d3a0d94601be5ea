/** hnswlib-node, which is compiled for a run of the benches: loaded when first used, so that `--help` needs no compiler. */
import { createRequire } from 'node:module';
import type hnswlib from 'hnswlib-node';

let loaded: typeof hnswlib | undefined;

export function hnswlibNode(): typeof hnswlib {
  loaded ??= createRequire(import.meta.url)('hnswlib-node') as typeof hnswlib;
  return loaded;
}
