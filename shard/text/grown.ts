const FIRST_LENGTH = 16;

interface Column {
  readonly length: number;
  set(from: this): void;
}

/** `column` with room for index `at`: itself where there is, else a copy half as long again, zero where new. */
export function grown<C extends Column>(column: C, at: number, make: (length: number) => C): C {
  if (at < column.length) return column;
  const larger = make(Math.max(FIRST_LENGTH, at + 1, Math.ceil(1.5 * column.length)));
  larger.set(column);
  return larger;
}

export const words = (length: number): Uint32Array<ArrayBuffer> => new Uint32Array(length);
export const bytes = (length: number): Uint8Array<ArrayBuffer> => new Uint8Array(length);
