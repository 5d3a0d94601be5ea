/** Opens a file, or standard input, as a source of rows. */
import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { ifThere } from '../../../shared/files/durable.js';
import type { Source } from '../source.js';
import type { ByteSource } from './bytes.js';
import { jsonSource } from './jsonValues.js';
import { csvSource, jsonlSource } from './lines.js';
import { npySource } from './npy.js';
import { parquetSource } from './parquet.js';
import { vecsSource } from './vecs.js';

export const FORMATS = ['jsonl', 'json', 'csv', 'npy', 'fvecs', 'bvecs', 'ivecs', 'parquet'] as const;
export type Format = (typeof FORMATS)[number];

/** The format of a file by the end of its name; undefined if the name has no known end. */
export function formatOf(path: string): Format | undefined {
  const end = extname(path).slice(1).toLowerCase();
  return OTHER_ENDS[end] ?? FORMATS.find((format) => format === end);
}

const OTHER_ENDS: Readonly<Record<string, Format>> = { ndjson: 'jsonl', tsv: 'csv' };

/** `path` undefined: standard input. `delimiter`: between the columns of a .csv file. Throws an Error of one line. */
export async function openFile(path: string | undefined, format: Format, delimiter?: string): Promise<Source> {
  const found = path === undefined ? undefined : await ifThere(stat(path));
  if (path !== undefined && found === undefined) throw new Error(`the file ${path} does not exist`);
  if (found?.isDirectory() === true) throw new Error(`${path} is a folder`);
  const name = path === undefined ? 'standard input' : basename(path);
  const bytes: ByteSource = { path, sizeBytes: found?.isFile() === true ? found.size : undefined };
  switch (format) {
    case 'jsonl':
      return jsonlSource(name, bytes);
    case 'json':
      return jsonSource(name, bytes);
    case 'csv':
      return csvSource(name, bytes, delimiter ?? (path?.endsWith('.tsv') ? '\t' : undefined));
    case 'npy':
      return npySource(name, bytes);
    case 'parquet':
      if (path === undefined) throw new Error('a .parquet file is read from its end first: it must be a file');
      return parquetSource(name, path);
    default:
      return vecsSource(name, bytes, format);
  }
}
