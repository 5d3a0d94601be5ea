/** Reads the command lines of export and import. */
import { namedService, pathOf, SERVICE_OPTIONS } from '../service/target.js';
import { commandText, parseFlags, UsageError } from '../terminal/commandLine.js';

const SERVICE = '[--on-behalf-of <name>] [--url <address>] [--key <API key>]';
export const EXPORT_USAGE = `${commandText('export', `--collection <name> --out <file> ${SERVICE}`)}
${commandText('export', `--collection <name> --access --out <file> ${SERVICE}`)}
${commandText('export', `--collection <name> --to hnswlib <folder> ${SERVICE}`)}

--out writes the collection's log, to verify and to import; with --access its access log, which a key of scope admin reads.
--to hnswlib writes its live records into a new folder, which HNSWLib of LangChain.js loads.`;
export const IMPORT_USAGE = commandText('import', `--file <file> [--collection <new name>] ${SERVICE}`);

const TEXT = { type: 'string' } as const;

const HNSWLIB = 'hnswlib';

/** A log in a file, or a store of LangChain.js in a folder. */
type ExportTarget = { readonly kind: 'log' | 'access' | typeof HNSWLIB; readonly path: string };

/** Throws UsageError. */
export function parseExport(args: readonly string[]) {
  const options = { collection: TEXT, out: TEXT, to: TEXT, access: { type: 'boolean' }, ...SERVICE_OPTIONS } as const;
  const { values, positionals } = parseFlags({ args: [...args], options, allowPositionals: true });
  const { collection, out, to, access: isAccess = false } = values;
  if (collection === undefined) throw new UsageError('--collection is missing: which collection?');
  if (isAccess && to !== undefined) throw new UsageError('give --access or --to, not both');
  const kind = isAccess ? 'access' : 'log';
  const target = to === undefined ? logTarget(kind, out, positionals) : storeTarget(to, out, positionals);
  return { collection, target, ...namedService(values) };
}

function logTarget(kind: 'log' | 'access', out: string | undefined, [extra]: readonly string[]): ExportTarget {
  if (extra !== undefined) throw new UsageError(`Unexpected argument '${extra}'`);
  if (out === undefined) throw new UsageError('--out is missing: into which file?');
  return { kind, path: pathOf(out) };
}

function storeTarget(to: string, out: string | undefined, [folder, extra]: readonly string[]): ExportTarget {
  if (to !== HNSWLIB) throw new UsageError(`--to is ${to}; there is ${HNSWLIB}`);
  if (out !== undefined) throw new UsageError('give --out or --to, not both');
  if (folder === undefined) throw new UsageError('the folder to export into is missing');
  if (extra !== undefined) throw new UsageError(`Unexpected argument '${extra}'`);
  return { kind: HNSWLIB, path: pathOf(folder) };
}

/** Throws UsageError. `collection`: the new name; undefined: the old one. */
export function parseImport(args: readonly string[]) {
  const options = { collection: TEXT, file: TEXT, ...SERVICE_OPTIONS } as const;
  const { collection, file, ...service } = parseFlags({ args: [...args], options }).values;
  if (file === undefined) throw new UsageError('--file is missing: from which export?');
  return { collection, file: pathOf(file), ...namedService(service) };
}
