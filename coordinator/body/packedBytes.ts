/**
 * A list of optional byte strings as two arrays, which cross from one thread to another without a copy. A list of a thousand
 * small arrays would take milliseconds.
 */

export interface PackedBytes {
  /** All strings, one after another. */
  readonly bytes: Uint8Array;
  /** The length of each string; -1: null. */
  readonly lengths: Int32Array;
}

export function packBytes(list: readonly (Uint8Array | null)[]): PackedBytes {
  const lengths = Int32Array.from(list, (item) => (item === null ? -1 : item.length));
  const bytes = new Uint8Array(list.reduce((sum, item) => sum + (item?.length ?? 0), 0));
  let at = 0;
  for (const item of list) {
    if (item === null) continue;
    bytes.set(item, at);
    at += item.length;
  }
  return { bytes, lengths };
}

/** Returns views of the packed bytes. */
export function unpackBytes({ bytes, lengths }: PackedBytes): (Uint8Array | null)[] {
  const list = new Array<Uint8Array | null>(lengths.length);
  let at = 0;
  for (let i = 0; i < lengths.length; i++) {
    const length = lengths[i]!;
    list[i] = length < 0 ? null : bytes.subarray(at, at + length);
    at += Math.max(0, length);
  }
  return list;
}
