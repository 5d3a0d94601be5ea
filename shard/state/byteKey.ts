/** Short bytes are copied here: a Buffer over each array would cost five times as much. */
const scratch = Buffer.allocUnsafeSlow(64);

/** Returns the bytes as a string with a character per byte: compact, and a Map key by value. */
export function byteKey(bytes: Uint8Array): string {
  const { length } = bytes;
  if (length > scratch.length) return Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('latin1');
  scratch.set(bytes);
  return scratch.toString('latin1', 0, length);
}
