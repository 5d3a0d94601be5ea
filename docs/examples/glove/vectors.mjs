/** The 1,000 most frequent words of a part of GloVe 6B, with their vectors of 100 dimensions. */
import { readFileSync } from 'node:fs';

const read = (name) => readFileSync(new URL(name, import.meta.url));

/** The rows of a `.npy` file of float32. */
function rowsOf(bytes) {
  const headerEnd = 10 + bytes.readUInt16LE(8);
  const [, rows, columns] = /'shape': \((\d+), (\d+)\)/.exec(bytes.toString('latin1', 10, headerEnd));
  const values = new Float32Array(new Uint8Array(bytes.subarray(headerEnd)).buffer);
  return Array.from({ length: Number(rows) }, (_, row) => values.subarray(row * columns, (row + 1) * columns));
}

/** The words, one a line below a line of titles. */
const names = read('words.csv').toString().trim().split('\n').slice(1);
const rows = rowsOf(read('words.npy'));

/** Divides by the length: for vectors of length 1 the order by Euclidean distance is that by cosine. */
function ofLength1(vector) {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Word → vector. */
export const WORDS = new Map(names.map((word, i) => [word, ofLength1(rows[i])]));
export const DIMENSION = rows[0].length;
