/** Returns the bytes as a string with a character per byte: compact, and a Map key by value. */
export const byteKey = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('latin1');
