/**
 * The chain and the Merkle tree over the entries of an access log; the tree has the shape of RFC 6962. In memory are the roots of
 * full subtrees, which are enough to append and to compute the root.
 *
 * ```text
 * entry hash  e  = H(0x30 ‖ entry)
 * chain head  c' = H(0x31 ‖ c ‖ e), at first 32 zeros
 * node           = H(0x32 ‖ left ‖ right)
 * root           = H(0x33 ‖ u64 entries ‖ tree hash)
 * ```
 */
import { DOMAIN, EMPTY_HASH, hash } from '../hashing/hash.js';
import { writeU64 } from '../hashing/u64.js';
import { HASH_BYTES } from '../limits.js';

const pair = new Uint8Array(1 + 2 * HASH_BYTES);

function joined(domain: number, left: Uint8Array, right: Uint8Array): Uint8Array {
  pair[0] = domain;
  pair.set(left, 1);
  pair.set(right, 1 + HASH_BYTES);
  return hash(pair);
}

export class AccessTree {
  /** `roots`: of the full subtrees, left to right; each is larger than the next. */
  constructor(
    public size = 0,
    public chainHead: Uint8Array = EMPTY_HASH,
    readonly roots: Uint8Array[] = [],
  ) {}

  copy(): AccessTree {
    return new AccessTree(this.size, this.chainHead, [...this.roots]);
  }

  append(entry: Uint8Array): void {
    const message = Buffer.allocUnsafe(1 + entry.length);
    message.set(entry, 1);
    this.appendMessage(message);
  }

  /** Appends the entry behind the first byte, which is overwritten. */
  appendMessage(message: Uint8Array): void {
    message[0] = DOMAIN.accessEntry;
    let node = hash(message);
    this.chainHead = joined(DOMAIN.accessChain, this.chainHead, node);
    // A full subtree ends here for each trailing one of the former size in binary.
    for (let full = this.size; full % 2 === 1; full = (full - 1) / 2)
      node = joined(DOMAIN.accessNode, this.roots.pop()!, node);
    this.roots.push(node);
    this.size += 1;
  }

  root(): Uint8Array {
    const tree = this.roots.reduceRight<Uint8Array | undefined>(
      (right, left) => (right === undefined ? left : joined(DOMAIN.accessNode, left, right)),
      undefined,
    );
    const message = new Uint8Array(1 + 8 + HASH_BYTES);
    message[0] = DOMAIN.accessRoot;
    writeU64(new DataView(message.buffer), 1, this.size);
    message.set(tree ?? EMPTY_HASH, 9);
    return hash(message);
  }
}
