/**
 * The functions of `node:fs` and `node:fs/promises` that the product uses, over simulated disks. A path below `/sim/`
 * lies on the disk of the machine that it names next. Any other path is a file of the checkout, and read-only.
 * An asynchronous call takes effect at a time of its own, even if its caller has ended by then: the system has it.
 */
import fs from 'node:fs';
import { currentWorld, type World } from '../world/world.js';
import { Disk, type OpenFile, systemError } from './disk.js';
import type { DiskNode } from './inode.js';

export const DISKS = '/sim/';
const BLOCK_BYTES = 4096;

/** Longest time of a call, in milliseconds. */
const CALL_MS = 0.1;
const SYNC_MS = 3;

export class Disks {
  readonly #disks = new Map<string, Disk>();
  readonly handles = new Map<number, OpenFile>();
  #lastFd = 1000;
  /** Grows when a machine loses power: earlier calls have no effect. */
  readonly #epochs = new Map<string, number>();

  constructor(private readonly world: World) {}

  of(machine: string): Disk {
    let disk = this.#disks.get(machine);
    if (disk === undefined) {
      disk = new Disk(() => Math.floor(this.world.startedMs + this.world.nowMs));
      this.#disks.set(machine, disk);
    }
    return disk;
  }

  losePower(machine: string): void {
    this.#epochs.set(machine, (this.#epochs.get(machine) ?? 0) + 1);
    this.of(machine).losePower(this.world.random('power'));
  }

  opened(file: OpenFile): number {
    this.handles.set(++this.#lastFd, file);
    return this.#lastFd;
  }

  file(fd: number): OpenFile {
    const file = this.handles.get(fd);
    if (file === undefined) throw systemError('EBADF', 'fd', String(fd));
    return file;
  }

  /** Runs a call that takes time. */
  call<T>(path: string, effect: (disk: Disk, path: string) => T, longestMs = CALL_MS): Promise<T> {
    const { world } = this;
    const { party } = world;
    const { machine, rest } = locate(path);
    const epoch = this.#epochs.get(machine);
    const random = world.random('disk');
    const delayMs = longestMs * random.next();
    return new Promise((resolve, reject) => {
      world.at(world.root, delayMs, 'disk', () => {
        if (this.#epochs.get(machine) !== epoch) return;
        try {
          const result = effect(this.of(machine), rest);
          world.at(party, 0, 'disk done', () => resolve(result));
        } catch (error) {
          world.at(party, 0, 'disk failed', () => reject(error));
        }
      });
    });
  }
}

const locate = (path: string): { machine: string; rest: string } => {
  const slash = path.indexOf('/', DISKS.length);
  return slash < 0
    ? { machine: path.slice(DISKS.length), rest: '' }
    : { machine: path.slice(DISKS.length, slash), rest: path.slice(slash) };
};

/** Disks of each world that has some. */
const disksOf = new WeakMap<World, Disks>();

export function disksIn(world: World): Disks {
  let disks = disksOf.get(world);
  if (disks === undefined) {
    disks = new Disks(world);
    disksOf.set(world, disks);
  }
  return disks;
}

/** Undefined if the call is Node's own. */
function simulated(path: unknown): { disks: Disks; path: string } | undefined {
  const world = currentWorld();
  if (world === undefined || typeof path !== 'string' || !path.startsWith(DISKS)) return undefined;
  return { disks: disksIn(world), path };
}

const sync = <T>(path: string, effect: (disk: Disk, path: string) => T): T | undefined => {
  const at = simulated(path);
  if (at === undefined) return undefined;
  const { machine, rest } = locate(path);
  return effect(at.disks.of(machine), rest);
};

function statsOf(node: DiskNode, isBig: boolean): object {
  const number = isBig ? BigInt : Number;
  const isFile = node.kind === 'file';
  return {
    ino: number(node.ino),
    mode: number(node.mode | (isFile ? 0o100000 : 0o040000)),
    nlink: number(node.links),
    size: number(node.size),
    mtimeMs: number(node.changedMs),
    mtimeNs: BigInt(node.changedMs) * 1_000_000n,
    isFile: () => isFile,
    isDirectory: () => !isFile,
    isSymbolicLink: () => false,
  };
}

class SimulatedHandle {
  #isOpen = true;

  constructor(
    private readonly disks: Disks,
    readonly fd: number,
    private readonly path: string,
  ) {}

  #call<T>(effect: (disk: Disk, file: OpenFile) => T, longestMs?: number): Promise<T> {
    return this.disks.call(this.path, (disk) => effect(disk, this.disks.file(this.fd)), longestMs);
  }

  async read(into: Uint8Array, offset = 0, length = into.byteLength - offset, position: number | null = null) {
    const bytes = await this.#call((disk, file) => Buffer.from(disk.read(file, position ?? 0, length)));
    into.set(bytes, offset);
    return { bytesRead: bytes.length, buffer: into };
  }

  async write(bytes: Uint8Array, offset = 0, length = bytes.byteLength - offset, position: number | null = null) {
    await this.#call((disk, file) => disk.write(file, bytes.subarray(offset, offset + length), position ?? 0));
    return { bytesWritten: length, buffer: bytes };
  }

  writeFile(content: Uint8Array | string): Promise<void> {
    return this.#call((disk, file) => disk.write(file, Buffer.from(content as Uint8Array), 0));
  }

  readFile(): Promise<Buffer> {
    return this.#call((disk, file) => Buffer.from(disk.read(file, 0, file.node.size)));
  }

  sync(): Promise<void> {
    return this.#call((disk, file) => disk.sync(file, 'fsync'), SYNC_MS);
  }

  datasync(): Promise<void> {
    return this.#call((disk, file) => disk.sync(file, 'fdatasync'), SYNC_MS);
  }

  truncate(size = 0): Promise<void> {
    return this.#call((disk, file) => disk.truncate(file, size));
  }

  stat({ bigint = false } = {}): Promise<object> {
    return this.#call((_, { node }) => statsOf(node, bigint));
  }

  chmod(mode: number): Promise<void> {
    return this.#call((_, { node }) => {
      node.mode = mode;
    });
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.disks.call(this.path, () => this.disks.handles.delete(this.fd));
  }
}

type Any = (...args: never[]) => unknown;

/** Files in which Linux describes its processes. */
function processFile(path: string): string | undefined {
  const world = currentWorld();
  if (world === undefined || !path.startsWith('/proc/')) return undefined;
  if (path.endsWith('/boot_id')) return `${world.party.machine}\n`;
  const pid = /^\/proc\/(\d+)\/stat$/.exec(path)?.[1];
  const party = world.parties.find((each) => String(each.pid) === pid && each.alive);
  if (party === undefined) throw systemError('ENOENT', 'open', path);
  return `${pid} (node) S ${Array.from({ length: 18 }, () => 0).join(' ')} ${party.number} 0`;
}

const textOf = (bytes: Buffer, options: unknown): Buffer | string => {
  const encoding = typeof options === 'string' ? options : (options as { encoding?: BufferEncoding } | null)?.encoding;
  return encoding ? bytes.toString(encoding as BufferEncoding) : bytes;
};

const DEFAULT_MODE = 0o666;

/** Replacements of functions of `node:fs/promises`, each of which falls back to Node's own. */
export function simulatedPromises(real: typeof fs.promises): Record<string, Any> {
  const calls =
    <A extends unknown[], T>(name: string, work: (disks: Disks, path: string, ...args: A) => Promise<T>) =>
    (path: unknown, ...args: A): Promise<T> => {
      const at = simulated(path);
      if (at === undefined)
        return (real as unknown as Record<string, Any>)[name]!(...([path, ...args] as never[])) as Promise<T>;
      return work(at.disks, at.path, ...args);
    };
  return {
    open: calls('open', async (disks, path, flags: string = 'r', mode: number = DEFAULT_MODE) => {
      const fd = await disks.call(path, (disk, rest) => disks.opened(disk.open(rest, flags, mode)));
      return new SimulatedHandle(disks, fd, path);
    }),
    readFile: async (path: string, options?: unknown) => {
      if (currentWorld() === undefined) return real.readFile(path, options as BufferEncoding);
      const text = typeof path === 'string' ? processFile(path) : undefined;
      if (text !== undefined) return textOf(Buffer.from(text), options);
      const at = simulated(path);
      if (at === undefined) return textOf(fs.readFileSync(path), options);
      const bytes = await at.disks.call(at.path, (disk, rest) => {
        const file = disk.open(rest, 'r', 0);
        return Buffer.from(disk.read(file, 0, file.node.size));
      });
      return textOf(bytes, options);
    },
    readdir: async (path: string, options?: { withFileTypes?: boolean; recursive?: boolean }) => {
      if (currentWorld() === undefined) return real.readdir(path, options as never);
      const at = simulated(path);
      if (at === undefined) return fs.readdirSync(path, options as never);
      const folder = await at.disks.call(at.path, (disk, rest) => [...disk.readdir(rest).entries]);
      if (options?.withFileTypes !== true) return folder.map(([name]) => name);
      return folder.map(([name, node]) => ({ ...statsOf(node, false), name, parentPath: path, path }));
    },
    stat: calls('stat', (disks, path, options?: { bigint?: boolean }) =>
      disks.call(path, (disk, rest) => statsOf(disk.stat(rest), options?.bigint ?? false)),
    ),
    lstat: calls('lstat', (disks, path, options?: { bigint?: boolean }) =>
      disks.call(path, (disk, rest) => statsOf(disk.stat(rest), options?.bigint ?? false)),
    ),
    realpath: calls('realpath', (disks, path) =>
      disks.call(path, (disk, rest) => {
        disk.stat(rest);
        return path;
      }),
    ),
    mkdir: calls('mkdir', (disks, path, options?: { mode?: number }) =>
      disks.call(path, (disk, rest) => disk.mkdir(rest, options?.mode ?? 0o777)),
    ),
    rename: calls('rename', (disks, path, to: string) =>
      disks.call(path, (disk, rest) => disk.rename(rest, locate(to).rest)),
    ),
    link: calls('link', (disks, path, to: string) =>
      disks.call(path, (disk, rest) => disk.link(rest, locate(to).rest)),
    ),
    unlink: calls('unlink', (disks, path) => disks.call(path, (disk, rest) => disk.unlink(rest))),
    rmdir: calls('rmdir', (disks, path) => disks.call(path, (disk, rest) => disk.rmdir(rest))),
    rm: calls('rm', (disks, path) => disks.call(path, (disk, rest) => disk.removeTree(rest))),
    chmod: calls('chmod', (disks, path, mode: number) => disks.call(path, (disk, rest) => disk.chmod(rest, mode))),
    statfs: calls('statfs', (disks, path) =>
      disks.call(path, (disk) => ({ bavail: disk.freeBytes / BLOCK_BYTES, bsize: BLOCK_BYTES })),
    ),
  };
}

/** Replacements of functions of `node:fs`. */
export function simulatedSyncs(real: typeof fs): Record<string, Any> {
  const own = { ...real };
  const disks = (): Disks | undefined => {
    const world = currentWorld();
    return world && disksIn(world);
  };
  const fileOf = (fd: number): OpenFile | undefined => disks()?.handles.get(fd);
  return {
    openSync: (path: string, flags: string = 'r', mode: number = DEFAULT_MODE) =>
      sync(path, (disk, rest) => disks()!.opened(disk.open(rest, flags, mode))) ?? own.openSync(path, flags, mode),
    closeSync: (fd: number) => {
      if (fileOf(fd) === undefined) own.closeSync(fd);
      else disks()!.handles.delete(fd);
    },
    readSync: (fd: number, into: Uint8Array, offset: number, length: number, position: number) => {
      const file = fileOf(fd);
      if (file === undefined) return own.readSync(fd, into, offset, length, position);
      const bytes = file.disk.read(file, position, length);
      into.set(bytes, offset);
      return bytes.length;
    },
    writeSync: (fd: number, bytes: Uint8Array, offset: number, length: number, position: number) => {
      const file = fileOf(fd);
      if (file === undefined) return own.writeSync(fd, bytes, offset, length, position);
      file.disk.write(file, bytes.subarray(offset, offset + length), position);
      return length;
    },
    statSync: (path: string, options?: { bigint?: boolean; throwIfNoEntry?: boolean }) => {
      if (simulated(path) === undefined) return own.statSync(path, options as never);
      try {
        return sync(path, (disk, rest) => statsOf(disk.stat(rest), options?.bigint ?? false));
      } catch (error) {
        if (options?.throwIfNoEntry === false && (error as { code?: string }).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    readFileSync: (path: string, options?: unknown) => {
      const at = simulated(path);
      if (at === undefined) return own.readFileSync(path, options as never);
      return sync(path, (disk, rest) => {
        const file = disk.open(rest, 'r', 0);
        return textOf(Buffer.from(disk.read(file, 0, file.node.size)), options);
      });
    },
  };
}
