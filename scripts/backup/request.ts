/** What the command lines of export and import ask for. */
import { resolve } from 'node:path';
import { parseFlags, UsageError } from '../terminal/commandLine.js';

interface Service {
  /** Undefined: the one that runs on the data folder. */
  readonly url: string | undefined;
  readonly key: string | undefined;
}

export interface ExportRequest extends Service {
  readonly collection: string;
  readonly file: string;
}

export interface ImportRequest extends Service {
  /** Undefined: as it was called. */
  readonly collection: string | undefined;
  readonly file: string;
}

export const EXPORT_USAGE = 'npm run export -- --collection <name> --out <file> [--url <address>] [--key <API key>]';
export const IMPORT_USAGE =
  'npm run import -- --file <file> [--collection <new name>] [--url <address>] [--key <API key>]';

const TEXT = { type: 'string' } as const;

/** Throws UsageError. */
export function parseExport(args: readonly string[]): ExportRequest {
  const options = { collection: TEXT, out: TEXT, url: TEXT, key: TEXT };
  const { collection, out, url, key } = parseFlags({ args: [...args], options }).values;
  if (collection === undefined) throw new UsageError('--collection is missing: which collection?');
  if (out === undefined) throw new UsageError('--out is missing: into which file?');
  return { collection, file: pathOf(out), ...service(url, key) };
}

/** Throws UsageError. */
export function parseImport(args: readonly string[]): ImportRequest {
  const options = { collection: TEXT, file: TEXT, url: TEXT, key: TEXT };
  const { collection, file, url, key } = parseFlags({ args: [...args], options }).values;
  if (file === undefined) throw new UsageError('--file is missing: from which export?');
  return { collection, file: pathOf(file), ...service(url, key) };
}

function service(url: string | undefined, key: string | undefined): Service {
  if (url !== undefined && !/^https?:\/\/[^/]+\/?$/.test(url))
    throw new UsageError(`--url is ${url}; allowed is an address such as http://127.0.0.1:8080`);
  return { url: url?.replace(/\/$/, ''), key: key ?? (process.env.VOUCH_KEY || undefined) };
}

/** As seen from where the person is: npm changes into the project's folder and says where it came from. */
const pathOf = (path: string): string => resolve(process.env.INIT_CWD ?? process.cwd(), path);
