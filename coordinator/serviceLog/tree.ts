/**
 * The Merkle tree of the service log: RFC 6962, section 2.1, with SHA-256. It keeps the hash of every full subtree, 64 bytes
 * per entry, so that a proof or a tile costs look-ups and a few hashes.
 */
import crypto, { createHash } from 'node:crypto';

const HASH_BYTES = 32;
const TILE_HEIGHT = 8;
export const TILE_WIDTH = 2 ** TILE_HEIGHT;

/** SHA-256 in one call, in half the time, if this version of Node has it. */
const sha256: (message: Uint8Array) => Uint8Array =
  crypto.hash === undefined
    ? (message) => createHash('sha256').update(message).digest()
    : (message) => crypto.hash('sha256', message, 'buffer');

const EMPTY_ROOT = sha256(new Uint8Array(0));

/** The hash of an entry. */
export function leafHash(entry: Uint8Array): Uint8Array {
  const message = Buffer.allocUnsafe(1 + entry.length);
  message[0] = 0x00;
  message.set(entry, 1);
  return sha256(message);
}

const pair = Buffer.alloc(1 + 2 * HASH_BYTES);
pair[0] = 0x01;

function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  pair.set(left, 1);
  pair.set(right, 1 + HASH_BYTES);
  return sha256(pair);
}

/** The hashes of all full subtrees of one height, in order. */
class Level {
  count = 0;
  #bytes = new Uint8Array(TILE_WIDTH * HASH_BYTES);

  push(hash: Uint8Array): void {
    if (this.#bytes.length === this.count * HASH_BYTES) {
      const grown = new Uint8Array(2 * this.#bytes.length);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes.set(hash, this.count * HASH_BYTES);
    this.count += 1;
  }

  /** Returns a view, valid until the level grows. */
  hashes(from: number, to: number): Uint8Array {
    return this.#bytes.subarray(from * HASH_BYTES, to * HASH_BYTES);
  }
}

export class ServiceTree {
  /** Levels by height, from the leaves. */
  readonly #levels: Level[] = [new Level()];

  get size(): number {
    return this.#levels[0]!.count;
  }

  append(leaf: Uint8Array): void {
    let hash = leaf;
    for (let height = 0; ; height++) {
      const level = this.#levels[height] ?? new Level();
      this.#levels[height] = level;
      level.push(hash);
      if (level.count % 2 === 1) return;
      hash = nodeHash(level.hashes(level.count - 2, level.count - 1), level.hashes(level.count - 1, level.count));
    }
  }

  /** The root of the first `size` leaves. */
  root(size: number): Uint8Array {
    return size === 0 ? EMPTY_ROOT : Uint8Array.from(this.#range(0, size));
  }

  /** The audit path of the leaf at `index` among the first `size`, bottom first. */
  inclusion(index: number, size: number): Uint8Array[] {
    const path: Uint8Array[] = [];
    let [start, end] = [0, size];
    while (end - start > 1) {
      const middle = start + split(end - start);
      const isLeft = index < middle;
      path.push(Uint8Array.from(isLeft ? this.#range(middle, end) : this.#range(start, middle)));
      if (isLeft) end = middle;
      else start = middle;
    }
    return path.reverse();
  }

  /** The proof that the first `to` leaves begin with the first `from` (RFC 6962, section 2.1.2). */
  consistency(from: number, to: number): Uint8Array[] {
    if (from === 0 || from === to) return [];
    const proof: Uint8Array[] = [];
    let [start, end] = [0, to];
    // Descends to the subtree that ends with the earlier tree.
    while (end !== from) {
      const middle = start + split(end - start);
      const isLeft = from <= middle;
      proof.push(Uint8Array.from(isLeft ? this.#range(middle, end) : this.#range(start, middle)));
      if (isLeft) end = middle;
      else start = middle;
    }
    // The earlier root itself is omitted: the verifier knows it.
    return [...(start === 0 ? [] : [Uint8Array.from(this.#range(start, end))]), ...proof.reverse()];
  }

  /** The bytes of a tile of the tree of `size` leaves; undefined without a tile of this width. */
  tile(level: number, index: number, width: number): Uint8Array | undefined {
    const [from, to] = [index * TILE_WIDTH, index * TILE_WIDTH + width];
    const hashes = this.#levels[level * TILE_HEIGHT];
    return hashes === undefined || to > hashes.count ? undefined : Uint8Array.from(hashes.hashes(from, to));
  }

  /** The hash of the leaves from `start` to before `end`, where a subtree begins at `start`. */
  #range(start: number, end: number): Uint8Array {
    const count = end - start;
    const power = count === 1 ? 1 : 2 * split(count);
    if (power === count) return this.#levels[Math.log2(count)]!.hashes(start / count, start / count + 1);
    const middle = start + power / 2;
    return nodeHash(this.#range(start, middle), this.#range(middle, end));
  }
}

/** The largest power of two below `count`, which is 2 or more. */
function split(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}
