/** The numbers of a result: float64, little-endian, at any offset of a message. */
export function numbersOf(bytes: Uint8Array): Float64Array {
  const numbers = new Float64Array(bytes.length / Float64Array.BYTES_PER_ELEMENT);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let i = 0; i < numbers.length; i++) numbers[i] = view.getFloat64(i * Float64Array.BYTES_PER_ELEMENT, true);
  return numbers;
}

/** The same of int32. */
export function int32sOf(bytes: Uint8Array): Int32Array {
  const numbers = new Int32Array(bytes.length / Int32Array.BYTES_PER_ELEMENT);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let i = 0; i < numbers.length; i++) numbers[i] = view.getInt32(i * Int32Array.BYTES_PER_ELEMENT, true);
  return numbers;
}
