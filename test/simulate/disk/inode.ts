/**
 * Files and folders of a simulated disk. Each has the content that a process sees, and the content after a power loss.
 * The latter is everything synced, and whatever else the disk happened to have written.
 */
import type { SeededRandom } from '../../soak/random.js';

/** A disk writes whole sectors; a write of several may be torn between any two. */
const SECTOR_BYTES = 512;

/** Bytes of a file, in a buffer that grows. */
class Content {
  #bytes = Buffer.alloc(0);
  size = 0;

  read(offset: number, length: number): Buffer {
    return this.#bytes.subarray(offset, Math.min(offset + length, this.size));
  }

  write(bytes: Uint8Array, offset: number): void {
    const end = offset + bytes.length;
    if (end > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(end, 2 * this.#bytes.length));
      grown.set(this.read(0, this.size));
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, offset);
    this.size = Math.max(this.size, end);
  }

  resize(size: number): void {
    if (size < this.size) this.#bytes.fill(0, size, this.size);
    else if (size > this.size) this.write(Buffer.alloc(size - this.size), this.size);
    this.size = size;
  }

  flip(bit: number): void {
    this.#bytes[bit >> 3]! ^= 1 << (bit & 7);
  }

  become(other: Content): void {
    this.#bytes = Buffer.from(other.read(0, other.size));
    this.size = other.size;
  }
}

type Change = { readonly offset: number; readonly bytes: Buffer } | { readonly size: number };

const apply = (content: Content, change: Change): void =>
  'size' in change ? content.resize(change.size) : content.write(change.bytes, change.offset);

export class FileNode {
  readonly kind = 'file';
  links = 0;
  /** When its content changed, in Unix milliseconds. */
  changedMs = 0;
  readonly #seen = new Content();
  readonly #kept = new Content();
  /** Not synced yet, oldest first. */
  #changes: Change[] = [];

  constructor(
    readonly ino: number,
    public mode: number,
  ) {}

  get size(): number {
    return this.#seen.size;
  }

  read(offset: number, length: number): Buffer {
    return this.#seen.read(offset, length);
  }

  write(bytes: Uint8Array, offset: number, nowMs: number): void {
    this.#change({ offset, bytes: Buffer.from(bytes) }, nowMs);
  }

  resize(size: number, nowMs: number): void {
    this.#change({ size }, nowMs);
  }

  sync(): void {
    for (const change of this.#changes) apply(this.#kept, change);
    this.#changes = [];
  }

  /** Flips one bit on the disk. */
  rot(bit: number): void {
    this.sync();
    this.#seen.flip(bit);
    this.#kept.flip(bit);
  }

  /** Each change since the last sync is lost, kept, or torn between two sectors. */
  losePower(random: SeededRandom): void {
    for (const change of this.#changes) {
      const fate = random.int(3);
      if (fate === 0) continue;
      if (fate === 1 || 'size' in change) apply(this.#kept, change);
      else this.#tear(change.bytes, change.offset, random);
    }
    this.#changes = [];
    this.#seen.become(this.#kept);
  }

  #tear(bytes: Buffer, offset: number, random: SeededRandom): void {
    const fileEnd = offset + bytes.length;
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + SECTOR_BYTES - ((offset + at) % SECTOR_BYTES));
      if (random.int(2) === 0) this.#kept.write(bytes.subarray(at, end), offset + at);
      at = end;
    }
    // The disk may have a file's length before its sectors; those read as zeros.
    if (this.#kept.size < fileEnd && random.int(2) === 0) this.#kept.resize(fileEnd);
  }

  #change(change: Change, nowMs: number): void {
    this.changedMs = nowMs;
    apply(this.#seen, change);
    this.#changes.push(change);
  }
}

export class FolderNode {
  readonly kind = 'folder';
  links = 1;
  changedMs = 0;
  readonly entries = new Map<string, DiskNode>();
  readonly #kept = new Map<string, DiskNode>();
  /** Unsynced changes, oldest first. */
  readonly changes = new Set<NameChange>();

  constructor(
    readonly ino: number,
    public mode: number,
  ) {}

  readonly size = 4096;

  keep(name: string, node: DiskNode | undefined): void {
    if (node === undefined) this.#kept.delete(name);
    else this.#kept.set(name, node);
  }

  sync(): void {
    for (const change of this.changes) change.keep();
  }

  /** Call it once every name change of the disk has had its fate. */
  losePower(random: SeededRandom): void {
    this.entries.clear();
    for (const [name, node] of this.#kept) this.entries.set(name, node);
    for (const node of this.entries.values()) node.losePower(random);
  }
}

export type DiskNode = FileNode | FolderNode;

export interface Named {
  readonly folder: FolderNode;
  readonly name: string;
  readonly node: DiskNode | undefined;
}

/** A change of one name, or of both names in a rename; it is kept whole or not at all. */
export class NameChange {
  constructor(private readonly names: readonly Named[]) {
    for (const { folder, name, node } of names) {
      const before = folder.entries.get(name);
      if (before !== undefined) before.links--;
      if (node !== undefined) node.links++;
      // A re-added name comes last.
      folder.entries.delete(name);
      if (node !== undefined) folder.entries.set(name, node);
      folder.changes.add(this);
    }
  }

  keep(): void {
    for (const { folder, name, node } of this.names) folder.keep(name, node);
    this.forget();
  }

  forget(): void {
    for (const { folder } of this.names) folder.changes.delete(this);
  }
}
