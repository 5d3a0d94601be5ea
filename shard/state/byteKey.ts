/** The bytes as a string of as many characters: compact, and a Map key by value. */
export const byteKey = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('latin1');
