/** The used part of WebAssembly, which Node's types lack. */
import { readFileSync } from 'node:fs';

export const PAGE_BYTES = 65_536;

/** A memory that worker threads see without a copy, and that grows without detaching its views. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  /** Throws RangeError when the system refuses. */
  grow(pages: number): number;
}

/** A memory of one thread, which does not grow. */
export interface OwnMemory {
  readonly buffer: ArrayBuffer;
}

declare const WebAssembly: {
  readonly Memory: {
    new (limits: { initial: number; maximum: number; shared: true }): SharedMemory;
    new (limits: { initial: number; maximum: number }): OwnMemory;
  };
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

/** An empty memory. Takes address space for all of `maximumBytes` at once, and memory as it grows. */
export const openSharedMemory = (maximumBytes: number): SharedMemory =>
  new WebAssembly.Memory({ initial: 1, maximum: maximumBytes / PAGE_BYTES, shared: true });

export const openOwnMemory = (pages: number): OwnMemory => new WebAssembly.Memory({ initial: pages, maximum: pages });

/** The code of a file; threads can share it. */
export const compileFile = (file: URL | string): object => new WebAssembly.Module(readFileSync(file));

/** The exports of the code, which uses the given memory. */
export const instantiate = <Exports>(module: object, memory: SharedMemory | OwnMemory): Exports =>
  instantiateWith(module, { env: { memory } });

/** The exports of code with its own memory. */
export const instantiateWith = <Exports>(module: object, imports: object): Exports =>
  new WebAssembly.Instance(module, imports).exports as Exports;
