/** Tiles and entry bundles of transparency logs (c2sp.org/tlog-tiles): their paths and contents. */

import { counted } from '../counted.js';
import { HASH_BYTES, nodeHash } from './merkle.js';

/** Hashes in a full tile, and entries in a full bundle. */
export const TILE_WIDTH = 256;
const TILE_HEIGHT = 8;
const LEVEL_MAX = 63;

/** The name of a tile. `level` `entries`: a bundle. `width`: 1 to 256; below 256 only for the last of a level. */
export interface TileName {
  readonly level: number | 'entries';
  readonly index: number;
  readonly width: number;
}

/** The path below the prefix of the log, such as `tile/0/x001/x234/067.p/8`. */
export function tilePath({ level, index, width }: TileName): string {
  const parts: string[] = [];
  for (let left = index; parts.length === 0 || left > 0; left = Math.floor(left / 1000))
    parts.unshift(`${parts.length === 0 ? '' : 'x'}${String(left % 1000).padStart(3, '0')}`);
  return `tile/${level}/${parts.join('/')}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
}

/** Reads a path that `tilePath` writes; undefined for any other. */
export function parseTilePath(path: string): TileName | undefined {
  const [, levelText, indexText, widthText] =
    /^tile\/(entries|0|[1-9]\d?)\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? [];
  if (levelText === undefined || indexText === undefined) return undefined;
  const level = levelText === 'entries' ? ('entries' as const) : Number(levelText);
  const width = widthText === undefined ? TILE_WIDTH : Number(widthText);
  const name = { level, index: Number(indexText.replaceAll(/[x/]/g, '')), width };
  const isName = (level === 'entries' || level <= LEVEL_MAX) && (widthText === undefined || width < TILE_WIDTH);
  // Compared, since leading zeros in whole path elements would be a second name of a tile.
  return isName && tilePath(name) === path ? name : undefined;
}

/** The number of hashes in a tile of a tree of `size` leaves: 0 for a tile beyond its end. */
export function tileWidth(size: number, level: number | 'entries', index: number): number {
  const hashes = Math.floor(size / TILE_WIDTH ** (level === 'entries' ? 0 : level));
  return Math.max(0, Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH));
}

/** The entries of a bundle: each a big-endian u16 length and its bytes. Throws an Error if it is cut off. */
export function entriesIn(bundle: Uint8Array): Uint8Array[] {
  const entries: Uint8Array[] = [];
  for (let at = 0; at < bundle.length; ) {
    const end = at + 2 + ((bundle[at]! << 8) | (bundle[at + 1] ?? 0));
    if (at + 2 > bundle.length || end > bundle.length) throw new Error('an entry bundle is cut off within an entry');
    entries.push(bundle.subarray(at + 2, end));
    at = end;
  }
  return entries;
}

/** Fetches the bytes of a tile or bundle. */
export type FetchTile = (name: TileName) => Promise<Uint8Array>;

/** The hashes of a tree of `size` leaves, from unverified tiles: wrong hashes make proofs that do not hold. */
export class TileTree {
  readonly #tiles = new Map<string, Promise<Uint8Array>>();

  constructor(
    readonly size: number,
    private readonly fetchTile: FetchTile,
  ) {}

  /** The audit path of the leaf at `index`, bottom first. */
  inclusion(index: number): Promise<Uint8Array[]> {
    return this.#path(index, 0, this.size);
  }

  root(): Promise<Uint8Array> {
    return this.#range(0, this.size);
  }

  /** The proof that this tree begins with the tree of `from` leaves (RFC 6962, section 2.1.2). */
  async consistency(from: number): Promise<Uint8Array[]> {
    return from === 0 || from === this.size ? [] : this.#subproof(from, 0, this.size, true);
  }

  async #path(index: number, start: number, end: number): Promise<Uint8Array[]> {
    if (end - start <= 1) return [];
    const middle = start + split(end - start);
    return index < middle
      ? [...(await this.#path(index, start, middle)), await this.#range(middle, end)]
      : [...(await this.#path(index, middle, end)), await this.#range(start, middle)];
  }

  async #subproof(from: number, start: number, end: number, isKnown: boolean): Promise<Uint8Array[]> {
    if (from === end) return isKnown ? [] : [await this.#range(start, end)];
    const middle = start + split(end - start);
    return from <= middle
      ? [...(await this.#subproof(from, start, middle, isKnown)), await this.#range(middle, end)]
      : [...(await this.#subproof(from, middle, end, false)), await this.#range(start, middle)];
  }

  /** The hash of the leaves from `start` to before `end`, where a subtree of the whole begins at `start`. */
  async #range(start: number, end: number): Promise<Uint8Array> {
    const count = end - start;
    const height = Math.log2(count);
    if (Number.isInteger(height)) return this.#node(height, start / count);
    const middle = start + split(count);
    return nodeHash(await this.#range(start, middle), await this.#range(middle, end));
  }

  /** The hash of the full subtree of 2^`height` leaves at `index`. */
  async #node(height: number, index: number): Promise<Uint8Array> {
    const level = Math.floor(height / TILE_HEIGHT);
    const count = 2 ** (height - level * TILE_HEIGHT);
    const first = index * count;
    const tile = await this.#tile(level, Math.floor(first / TILE_WIDTH));
    let hashes = Array.from({ length: count }, (_, i) => {
      const at = ((first + i) % TILE_WIDTH) * HASH_BYTES;
      return tile.subarray(at, at + HASH_BYTES);
    });
    while (hashes.length > 1)
      hashes = Array.from({ length: hashes.length / 2 }, (_, i) => nodeHash(hashes[2 * i]!, hashes[2 * i + 1]!));
    return hashes[0]!;
  }

  #tile(level: number, index: number): Promise<Uint8Array> {
    const name = { level, index, width: tileWidth(this.size, level, index) };
    const path = tilePath(name);
    const tile = this.#tiles.get(path) ?? this.#fetch(name, path);
    this.#tiles.set(path, tile);
    return tile;
  }

  async #fetch(name: TileName, path: string): Promise<Uint8Array> {
    const bytes = await this.fetchTile(name);
    if (bytes.length !== name.width * HASH_BYTES)
      throw new Error(`${path} has ${counted(bytes.length, 'byte')} instead of ${name.width * HASH_BYTES}`);
    return bytes;
  }
}

/** The largest power of two below `count`, which is 2 or more. */
const split = (count: number): number => {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
};
