/** Reads the command lines of export and import. */
import { namedService, pathOf } from '../service/target.js';
import { parseFlags, UsageError } from '../terminal/commandLine.js';

export const EXPORT_USAGE = 'npm run export -- --collection <name> --out <file> [--url <address>] [--key <API key>]';
export const IMPORT_USAGE =
  'npm run import -- --file <file> [--collection <new name>] [--url <address>] [--key <API key>]';

const TEXT = { type: 'string' } as const;

/** Throws UsageError. */
export function parseExport(args: readonly string[]) {
  const options = { collection: TEXT, out: TEXT, url: TEXT, key: TEXT };
  const { collection, out, url, key } = parseFlags({ args: [...args], options }).values;
  if (collection === undefined) throw new UsageError('--collection is missing: which collection?');
  if (out === undefined) throw new UsageError('--out is missing: into which file?');
  return { collection, file: pathOf(out), ...namedService(url, key) };
}

/** Throws UsageError. `collection`: the new name; undefined: the old one. */
export function parseImport(args: readonly string[]) {
  const options = { collection: TEXT, file: TEXT, url: TEXT, key: TEXT };
  const { collection, file, url, key } = parseFlags({ args: [...args], options }).values;
  if (file === undefined) throw new UsageError('--file is missing: from which export?');
  return { collection, file: pathOf(file), ...namedService(url, key) };
}
