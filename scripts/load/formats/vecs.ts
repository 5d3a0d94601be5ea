/** `.fvecs`, `.bvecs` and `.ivecs` of the TEXMEX sets: each vector as its length, an i32, and its numbers. http://corpus-texmex.irisa.fr */
import { DIMENSION_MAX } from '../../../shared/limits.js';
import { type RawRow, type Source, USUAL } from '../source.js';
import { ByteReader, type ByteSource } from './bytes.js';
import { NUMBER_KINDS, readerOf } from './numbers.js';

export const VECS_KINDS = { fvecs: 'f4', bvecs: 'u1', ivecs: 'i4' } as const;

const LENGTH_BYTES = 4;

export function vecsSource(name: string, source: ByteSource, format: keyof typeof VECS_KINDS): Source {
  const kind = VECS_KINDS[format];
  const { sizeBytes } = NUMBER_KINDS[kind]!;
  let rowBytes: number | undefined;
  return {
    name,
    usual: USUAL,
    hasColumns: true,
    expected: () =>
      rowBytes === undefined || source.sizeBytes === undefined ? undefined : Math.floor(source.sizeBytes / rowBytes),
    async *rows(signal): AsyncGenerator<RawRow> {
      const reader = new ByteReader(source, signal);
      try {
        yield* vectorsIn(reader);
      } finally {
        reader.close();
      }
    },
  };

  async function* vectorsIn(reader: ByteReader): AsyncGenerator<RawRow> {
    const read = readerOf(kind, true);
    for (let number = 1; ; number++) {
      const length = await reader.take(LENGTH_BYTES);
      if (length.length === 0) return;
      const dimension = length.length === LENGTH_BYTES ? length.readInt32LE() : -1;
      if (dimension < 1 || dimension > DIMENSION_MAX)
        throw new Error(`${name} is damaged, or not a .${format} file: vector ${number} has no length`);
      rowBytes ??= LENGTH_BYTES + dimension * sizeBytes;
      const bytes = await reader.take(dimension * sizeBytes);
      if (bytes.length < dimension * sizeBytes) throw new Error(`${name} ends within vector ${number}`);
      yield { number, fields: { vector: read(bytes, 0, dimension) } };
    }
  }
}
