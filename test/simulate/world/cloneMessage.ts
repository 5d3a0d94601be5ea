/** Copies messages between threads like the structured clone; shared memory stays shared. */

/** An object that a message passes on itself, not as a copy. */
export interface Uncopied {
  readonly isUncopied: true;
}

const isUncopied = (value: object): value is Uncopied => 'isUncopied' in value && value.isUncopied === true;

export function cloneMessage(value: unknown, transferred: readonly unknown[] = []): unknown {
  const copy = clone(value, new Map());
  // The sender loses transferred buffers.
  for (const each of transferred) if (each instanceof ArrayBuffer) structuredClone(each, { transfer: [each] });
  return copy;
}

function clone(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value === 'function') throw new DOMException(`${value.name} could not be cloned.`, 'DataCloneError');
  if (typeof value !== 'object' || value === null) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  const copy = copyOf(value, seen);
  seen.set(value, copy);
  fill(value, copy, seen);
  return copy;
}

/** The copy of the object, still empty. */
function copyOf(value: object, seen: Map<object, unknown>): object {
  if (value instanceof SharedArrayBuffer || isUncopied(value) || isOfWebAssembly(value)) return value;
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (ArrayBuffer.isView(value)) return viewOf(value, seen);
  if (value instanceof Map) return new Map();
  if (value instanceof Set) return new Set();
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof Error) return Object.assign(new Error(value.message), { name: value.name, stack: value.stack });
  return Array.isArray(value) ? [] : {};
}

function fill(value: object, copy: object, seen: Map<object, unknown>): void {
  if (copy === value) return;
  if (value instanceof Map)
    for (const [key, item] of value) (copy as Map<unknown, unknown>).set(clone(key, seen), clone(item, seen));
  else if (value instanceof Set) for (const item of value) (copy as Set<unknown>).add(clone(item, seen));
  else if (Array.isArray(value) || isPlain(value))
    for (const [key, item] of Object.entries(value)) (copy as Record<string, unknown>)[key] = clone(item, seen);
}

/** A class's own fields are copied; its class is lost. */
const isPlain = (value: object): boolean =>
  !(value instanceof ArrayBuffer) &&
  !ArrayBuffer.isView(value) &&
  !(value instanceof Date) &&
  !(value instanceof Error);

function viewOf(view: ArrayBufferView, seen: Map<object, unknown>): object {
  const buffer = clone(view.buffer, seen) as ArrayBuffer;
  if (view instanceof DataView) return new DataView(buffer, view.byteOffset, view.byteLength);
  // A Buffer becomes a plain array of bytes.
  const Kind = (Buffer.isBuffer(view) ? Uint8Array : view.constructor) as Uint8ArrayConstructor;
  return new Kind(buffer, view.byteOffset, view.byteLength / Kind.BYTES_PER_ELEMENT);
}

const isOfWebAssembly = (value: object): boolean =>
  /^\[object WebAssembly\./.test(Object.prototype.toString.call(value));
