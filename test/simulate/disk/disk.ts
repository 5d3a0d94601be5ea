/** The disk of a simulated machine: POSIX as far as the product uses it, faults, and power loss. */
import type { SeededRandom } from '../../soak/random.js';
import { type DiskNode, FileNode, FolderNode, NameChange, type Named } from './inode.js';

/** An error like those that Node throws for system calls. */
export function systemError(code: string, syscall: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${TEXTS[code] ?? 'failed'}, ${syscall} '${path}'`), { code, syscall, path });
}

const TEXTS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file already exists',
  ENOTDIR: 'not a directory',
  EISDIR: 'illegal operation on a directory',
  ENOTEMPTY: 'directory not empty',
  EIO: 'i/o error',
  ENOSPC: 'no space left on device',
  EBADF: 'bad file descriptor',
};

export interface OpenFile {
  readonly disk: Disk;
  readonly node: DiskNode;
  readonly path: string;
}

/** Error code with which a system call must fail; undefined: it succeeds. */
export type FailCall = (syscall: string, path: string) => string | undefined;

/** Calls that take room, and so fail on a full disk. `open` takes room only when it creates a file. */
export const TAKES_ROOM: ReadonlySet<string> = new Set([
  'write',
  'mkdir',
  'link',
  'rename',
  'fsync',
  'fdatasync',
  'ftruncate',
]);

const FREE_BYTES = 64 * 2 ** 30;

/** Largest number of cached splits of paths; most paths are looked up again and again. */
const PATHS_MAX = 1_000;
const parts = new Map<string, readonly string[]>();

function namesIn(path: string): readonly string[] {
  let names = parts.get(path);
  if (names === undefined) {
    names = path.split('/').filter((name) => name !== '');
    if (parts.size >= PATHS_MAX) parts.clear();
    parts.set(path, names);
  }
  return names;
}

export class Disk {
  readonly root = new FolderNode(1, 0o700);
  /** Consulted at every call. */
  fail: FailCall = () => undefined;
  isFull = false;
  #lastIno = 1;

  /** `nowMs`: the time of changes, in Unix milliseconds. */
  constructor(private readonly nowMs: () => number) {}

  /** Throws the injected error of a system call, if there is one. */
  #refuse(syscall: string, path: string): void {
    const code = this.fail(syscall, path);
    if (code !== undefined) throw systemError(code, syscall, path);
    if (TAKES_ROOM.has(syscall)) this.#takeRoom(syscall, path);
  }

  #takeRoom(syscall: string, path: string): void {
    if (this.isFull) throw systemError('ENOSPC', syscall, path);
  }

  get freeBytes(): number {
    return this.isFull ? 0 : FREE_BYTES;
  }

  find(path: string, syscall: string): DiskNode {
    let node: DiskNode = this.root;
    for (const name of namesIn(path)) {
      if (node.kind !== 'folder') throw systemError('ENOTDIR', syscall, path);
      const next: DiskNode | undefined = node.entries.get(name);
      if (next === undefined) throw systemError('ENOENT', syscall, path);
      node = next;
    }
    return node;
  }

  open(path: string, flags: string, mode: number): OpenFile {
    this.#refuse('open', path);
    const place = this.#place(path, 'open');
    const found = place.folder.entries.get(place.name) ?? (place.name === '' ? this.root : undefined);
    if (found !== undefined) {
      if (flags.includes('x')) throw systemError('EEXIST', 'open', path);
      if (flags !== 'r' && found.kind === 'folder') throw systemError('EISDIR', 'open', path);
      if (flags.startsWith('w') && found.kind === 'file') found.resize(0, this.nowMs());
      return { disk: this, node: found, path };
    }
    if (flags.startsWith('r')) throw systemError('ENOENT', 'open', path);
    this.#takeRoom('open', path);
    const node = new FileNode(++this.#lastIno, mode);
    node.changedMs = this.nowMs();
    this.#change([{ ...place, node }]);
    return { disk: this, node, path };
  }

  read({ node, path }: OpenFile, offset: number, length: number): Buffer {
    this.#refuse('read', path);
    if (node.kind !== 'file') throw systemError('EISDIR', 'read', path);
    return node.read(offset, length);
  }

  write({ node, path }: OpenFile, bytes: Uint8Array, offset: number): void {
    this.#refuse('write', path);
    if (node.kind !== 'file') throw systemError('EBADF', 'write', path);
    node.write(bytes, offset, this.nowMs());
  }

  truncate({ node, path }: OpenFile, size: number): void {
    this.#refuse('ftruncate', path);
    if (node.kind !== 'file') throw systemError('EBADF', 'ftruncate', path);
    node.resize(size, this.nowMs());
  }

  sync({ node, path }: OpenFile, syscall: 'fsync' | 'fdatasync'): void {
    this.#refuse(syscall, path);
    node.sync();
  }

  mkdir(path: string, mode: number): void {
    this.#refuse('mkdir', path);
    const place = this.#place(path, 'mkdir');
    if (place.name === '' || place.folder.entries.has(place.name)) throw systemError('EEXIST', 'mkdir', path);
    this.#change([{ ...place, node: new FolderNode(++this.#lastIno, mode) }]);
  }

  rename(from: string, to: string): void {
    this.#refuse('rename', from);
    const [source, target] = [this.#place(from, 'rename'), this.#place(to, 'rename')];
    const node = source.folder.entries.get(source.name);
    if (node === undefined) throw systemError('ENOENT', 'rename', from);
    const there = target.folder.entries.get(target.name);
    if (there === node) return;
    if (there?.kind === 'folder' && there.entries.size > 0) throw systemError('ENOTEMPTY', 'rename', to);
    this.#change([
      { ...source, node: undefined },
      { ...target, node },
    ]);
  }

  link(from: string, to: string): void {
    this.#refuse('link', from);
    const node = this.find(from, 'link');
    const place = this.#place(to, 'link');
    if (place.folder.entries.has(place.name)) throw systemError('EEXIST', 'link', to);
    this.#change([{ ...place, node }]);
  }

  unlink(path: string): void {
    this.#refuse('unlink', path);
    const place = this.#place(path, 'unlink');
    const node = place.folder.entries.get(place.name);
    if (node === undefined) throw systemError('ENOENT', 'unlink', path);
    if (node.kind === 'folder') throw systemError('EISDIR', 'unlink', path);
    this.#change([{ ...place, node: undefined }]);
  }

  rmdir(path: string): void {
    this.#refuse('rmdir', path);
    const place = this.#place(path, 'rmdir');
    const node = place.folder.entries.get(place.name);
    if (node === undefined) throw systemError('ENOENT', 'rmdir', path);
    if (node.kind !== 'folder') throw systemError('ENOTDIR', 'rmdir', path);
    if (node.entries.size > 0) throw systemError('ENOTEMPTY', 'rmdir', path);
    this.#change([{ ...place, node: undefined }]);
  }

  /** Removes like `rm` with `recursive` and `force`. */
  removeTree(path: string): void {
    let node: DiskNode;
    try {
      node = this.find(path, 'rm');
    } catch {
      return;
    }
    if (node.kind === 'file') {
      this.unlink(path);
      return;
    }
    for (const name of [...node.entries.keys()]) this.removeTree(`${path}/${name}`);
    this.rmdir(path);
  }

  readdir(path: string): FolderNode {
    this.#refuse('scandir', path);
    const node = this.find(path, 'scandir');
    if (node.kind !== 'folder') throw systemError('ENOTDIR', 'scandir', path);
    return node;
  }

  stat(path: string): DiskNode {
    this.#refuse('stat', path);
    return this.find(path, 'stat');
  }

  chmod(path: string, mode: number): void {
    this.#refuse('chmod', path);
    this.find(path, 'chmod').mode = mode;
  }

  /**
   * Loses, keeps or tears each unsynced change. Name changes either keep their order, like on a journalling file
   * system, up to some point, or each has its own fate.
   */
  losePower(random: SeededRandom): void {
    const changes = [...this.#unsynced()];
    const isOrdered = random.int(2) === 0;
    const kept = random.int(changes.length + 1);
    for (const [i, change] of changes.entries())
      if (isOrdered ? i < kept : random.int(2) === 0) change.keep();
      else change.forget();
    this.root.losePower(random);
  }

  /** Every file below a folder, with its path. */
  *files(folder: FolderNode = this.root, path = ''): Generator<readonly [string, FileNode]> {
    for (const [name, node] of folder.entries)
      if (node.kind === 'file') yield [`${path}/${name}`, node];
      else yield* this.files(node, `${path}/${name}`);
  }

  *#unsynced(folder: FolderNode = this.root, seen = new Set<NameChange>()): Generator<NameChange> {
    for (const change of folder.changes)
      if (!seen.has(change)) {
        seen.add(change);
        yield change;
      }
    for (const node of folder.entries.values()) if (node.kind === 'folder') yield* this.#unsynced(node, seen);
  }

  #change(names: readonly Named[]): void {
    for (const { folder } of names) folder.changedMs = this.nowMs();
    new NameChange(names);
  }

  #place(path: string, syscall: string): { folder: FolderNode; name: string } {
    const slash = path.lastIndexOf('/');
    const folder = this.find(path.slice(0, slash), syscall);
    if (folder.kind !== 'folder') throw systemError('ENOTDIR', syscall, path);
    return { folder, name: path.slice(slash + 1) };
  }
}
