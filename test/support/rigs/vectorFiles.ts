/** Builds files of vectors byte by byte. */

/** NumPy's format 1.0; `descr` such as `<f4`. */
export function npyBytes(descr: string, shape: string, data: Uint8Array, isFortran = false): Buffer {
  const header = `{'descr': '${descr}', 'fortran_order': ${isFortran ? 'True' : 'False'}, 'shape': ${shape}, }`;
  const text = `${header.padEnd(117)}\n`;
  const length = Buffer.alloc(2);
  length.writeUInt16LE(text.length);
  return Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), length, Buffer.from(text, 'latin1'), data]);
}

export const npyOf = (rows: readonly (readonly number[])[]): Buffer =>
  npyBytes('<f4', `(${rows.length}, ${rows[0]!.length})`, new Uint8Array(new Float32Array(rows.flat()).buffer));

/** An `.fvecs` file. */
export const fvecsOf = (rows: readonly (readonly number[])[]): Buffer =>
  Buffer.concat(
    rows.flatMap((row) => {
      const length = Buffer.alloc(4);
      length.writeInt32LE(row.length);
      return [length, new Uint8Array(new Float32Array(row).buffer)];
    }),
  );
