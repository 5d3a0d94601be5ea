/** Sizes of arguments and answers. */

/** Limit of numbers, fields and items in the arguments of one call: 15 vectors of the greatest dimension, or 100 of 5,000 components. */
export const ELEMENTS_MAX = 500_000;

/** UTF-8 bytes of the JSON of a value. */
export const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The number of items and fields in a value, at all depths; stops a little beyond ELEMENTS_MAX. */
export function elementsIn(value: unknown): number {
  let count = 0;
  const unseen: unknown[] = [value];
  while (unseen.length > 0 && count <= ELEMENTS_MAX) {
    const next = unseen.pop();
    if (typeof next !== 'object' || next === null) continue;
    const items: unknown[] = Array.isArray(next) ? next : Object.values(next);
    count += items.length;
    for (const item of items) if (typeof item === 'object' && item !== null) unseen.push(item);
  }
  return count;
}

/** The longest part of `text` from `from` on that takes at most `bytes` bytes in JSON; no surrogate pair is cut. */
export function pieceOf(text: string, from: number, bytes: number): string {
  let [least, most] = [0, Math.min(bytes, text.length - from)];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    // Do not count the two quotes.
    if (sizeOf(text.slice(from, from + middle)) - 2 <= bytes) least = middle;
    else most = middle - 1;
  }
  const last = text.charCodeAt(from + least - 1);
  const isCut = least > 0 && from + least < text.length && last >= 0xd800 && last < 0xdc00;
  return text.slice(from, from + (isCut ? least - 1 : least));
}
