/** Reads the command line of `npm run load`. */

import { ACCESS_RETENTION_DAYS_MAX, TTL_SECS_MAX } from '../../shared/limits.js';
import { isLanguage, LANGUAGES, type Language } from '../../shared/model/textLanguage.js';
import { isSpace, SPACES, type Space } from '../hnswlib/store.js';
import { namedService, pathOf, SERVICE_OPTIONS } from '../service/target.js';
import { commandText, parseFlags, UsageError } from '../terminal/commandLine.js';
import { FORMATS, type Format, formatOf } from './formats/open.js';
import type { Columns } from './row.js';
import { VECTOR_BYTES, type VectorBytes, vectorBytesIn } from './vectorBytes.js';

export const LOAD_USAGE = `${commandText('load', 'FILE --collection NAME [options]')}
${commandText('load', 'URL --from qdrant|chroma|pgvector --source NAME --collection NAME [options]')}
${commandText('load', 'FOLDER|FILE --from hnswlib --collection NAME [options]')}

FILE is .jsonl, .json, .csv, .tsv, .npy, .fvecs, .bvecs, .ivecs or .parquet, or - for standard input. With --from hnswlib it is
an index of hnswlib, and FOLDER a store that HNSWLib of LangChain.js has saved.

  --create            makes the collection where it is not there; --index KIND with that index
  --format FORMAT     of standard input, or of a file that is named otherwise
  --delimiter CHAR    between the columns of a .csv file, such as ';' or tab (default: a comma)
  --vector FIELD      of the vector (default: vector, embedding, embeddings or values); FIRST..LAST: a column each component
  --vector-bytes TYPE of the numbers in a vector of bytes, little-endian: float32, float64, float16, int8 or uint8;
                      float32,hex or float32,base64 where a text holds the bytes
  --text FIELD        of the text (default: text, document or content)
  --tag FIELD         of the tag, a whole number
  --expires-at FIELD  of the expiry: unix seconds, or ISO 8601 with its zone
  --key-id FIELD      of the vault key that the record is put under: 32 hex, or new for a fresh one
  --id FIELD          of the external id: a record that has it is replaced
  --metadata FIELDS   what becomes metadata, separated by commas; a single object is the metadata itself; none: nothing
                      (default: every other field)
  --numbers FIELDS    whose text becomes a number in the metadata, such as columns of a .csv file
  --beside FILE       .jsonl, .json, .csv or .parquet with the other fields of the same rows, such as the texts of a .npy file
  --normalise         makes a collection that divides vectors and queries by their length, for cosine; needs --create
                      (also --normalize)
  --audit-reads       makes a collection with an access log, which has every read; needs --create
  --access-retention-days DAYS
                      makes a collection that keeps the entries of its access log for so many days; needs --audit-reads
  --language LANGUAGE makes a collection whose texts are in that language, such as english: words match by their stems;
                      needs --create
  --ttl-secs SECONDS  makes a collection whose new records expire after so many seconds; needs --create
  --erasable          makes a collection whose records are all put under a vault key; needs --create
  --rejects FILE      gets the rows that do not fit, with the reason; without it the first one ends the load
  --again             inserts also rows that an earlier load without --id has inserted
  --progress FILE     records the progress, from which the next load continues (default: FILE.NAME.progress)
  --source NAME       the collection or table to read; --source-key KEY where its service asks for one
  --space SPACE       l2, ip or cosine: how an index file of hnswlib compares
  --on-behalf-of NAME for whom the rows are loaded, best a pseudonym: the actor of every event has it
  --url URL, --key K  the service (default: the one on the data folder) and its API key (or VOUCH_KEY)

A field may reach into objects: embedding.data.0. A load that is broken off and started again inserts nothing twice.`;

const SERVICES = ['qdrant', 'chroma', 'pgvector'] as const;
export type ServiceKind = (typeof SERVICES)[number];
const HNSWLIB = 'hnswlib';

export const STDIN = '-';

const TEXT = { type: 'string' } as const;
const SWITCH = { type: 'boolean' } as const;
const OPTIONS = {
  ...{ collection: TEXT, create: SWITCH, index: TEXT, format: TEXT, vector: TEXT, text: TEXT, metadata: TEXT },
  ...{ tag: TEXT, id: TEXT, numbers: TEXT, 'vector-bytes': TEXT, delimiter: TEXT },
  ...{
    beside: TEXT,
    normalise: SWITCH,
    normalize: SWITCH,
    language: TEXT,
    rejects: TEXT,
    progress: TEXT,
    from: TEXT,
    source: TEXT,
    'source-key': TEXT,
  },
  ...{
    space: TEXT,
    again: SWITCH,
    'audit-reads': SWITCH,
    'access-retention-days': TEXT,
    'ttl-secs': TEXT,
    'expires-at': TEXT,
    'key-id': TEXT,
    erasable: SWITCH,
  },
  ...SERVICE_OPTIONS,
} as const;

/** The source of rows. `path` undefined: standard input. */
export type Origin =
  | {
      readonly kind: 'file';
      readonly path: string | undefined;
      readonly format: Format;
      readonly beside: File | undefined;
      /** Separates the columns of .csv files; undefined: the usual character. */
      readonly delimiter: string | undefined;
    }
  /** A store of LangChain.js, or an index file, which does not say its space. */
  | { readonly kind: 'hnswlib'; readonly path: string; readonly space: Space | undefined }
  | ({ readonly kind: 'service'; readonly service: ServiceKind; readonly url: string } & Named);

interface Named {
  readonly name: string;
  readonly key: string | undefined;
}

export interface File {
  readonly path: string;
  readonly format: Format;
}

export interface CreatedCollection {
  readonly index: string | undefined;
  readonly isNormalised: boolean;
  readonly isAudited: boolean;
  /** Undefined: entries of the access log are kept forever. */
  readonly retentionDays: number | undefined;
  readonly language: Language | undefined;
  /** Undefined: the records do not expire. */
  readonly ttlSecs: number | undefined;
  readonly isErasable: boolean;
}

export interface LoadRequest {
  readonly origin: Origin;
  readonly collection: string;
  /** Undefined: the collection must be there. */
  readonly created: CreatedCollection | undefined;
  readonly columns: Columns;
  readonly rejects: string | undefined;
  readonly progress: string | undefined;
  /** Rows of earlier loads are not recognised. */
  readonly again: boolean;
  readonly service: ReturnType<typeof namedService>;
}

/** Throws UsageError. */
export function parseLoad(args: readonly string[]): LoadRequest {
  const { values, positionals } = parseFlags({ args: [...args], allowPositionals: true, options: OPTIONS });
  const [from, ...more] = positionals;
  if (from === undefined)
    throw new UsageError('name the source: a file, - for standard input, or the address of a service');
  if (more.length > 0) throw new UsageError(`${more.join(' ')}: one file at a time`);
  const { collection, create = false, index } = values;
  if (collection === undefined) throw new UsageError('--collection is missing: into which one?');
  if (index !== undefined && !create) throw new UsageError('--index needs --create');
  const isNormalised = values.normalise === true || values.normalize === true;
  if (isNormalised && !create) throw new UsageError('--normalise needs --create');
  const isAudited = values['audit-reads'] === true;
  if (isAudited && !create) throw new UsageError('--audit-reads needs --create');
  const retentionDays = wholeIn(values, 'access-retention-days', 'days', ACCESS_RETENTION_DAYS_MAX);
  if (retentionDays !== undefined && !isAudited) throw new UsageError('--access-retention-days needs --audit-reads');
  const language = languageOf(values.language);
  if (language !== undefined && !create) throw new UsageError('--language needs --create');
  const ttlSecs = wholeIn(values, 'ttl-secs', 'seconds', TTL_SECS_MAX);
  if (ttlSecs !== undefined && !create) throw new UsageError('--ttl-secs needs --create');
  const isErasable = values.erasable === true;
  if (isErasable && !create) throw new UsageError('--erasable needs --create');
  if (values.again === true && values.id !== undefined)
    throw new UsageError('give --again or --id, not both: --id replaces records');
  const origin = originOf(from, values);
  const path = origin.kind === 'service' ? undefined : origin.path;
  const { progress = path && `${path}.${collection}.progress` } = values;
  return {
    ...{ origin, collection },
    created: create ? { index, isNormalised, isAudited, retentionDays, language, ttlSecs, isErasable } : undefined,
    columns: { ...columnsOf(values), isNormalised },
    rejects: values.rejects && pathOf(values.rejects),
    progress: progress && pathOf(progress),
    ...{ again: values.again === true, service: namedService(values) },
  };
}

function languageOf(name: string | undefined): Language | undefined {
  if (name === undefined || isLanguage(name)) return name;
  throw new UsageError(`--language ${name}: expected one of ${LANGUAGES.join(', ')}`);
}

function wholeIn(values: Given, option: string, unit: string, max: number): number | undefined {
  const given = values[option];
  if (given === undefined) return undefined;
  const count = /^\d{1,10}$/.test(String(given)) ? Number(given) : 0;
  if (count >= 1 && count <= max) return count;
  throw new UsageError(`--${option} is ${given}; allowed are whole ${unit}, 1 to ${max}`);
}

interface Given {
  readonly [name: string]: string | boolean | undefined;
}

function originOf(from: string, given: Given): Origin {
  const { from: kind, space } = given;
  if (kind === HNSWLIB) return hnswlibOrigin(from, given);
  if (space !== undefined) throw new UsageError(`--space needs --from ${HNSWLIB}`);
  return typeof kind === 'string' ? serviceOrigin(from, kind, given) : fileOrigin(from, given);
}

function hnswlibOrigin(from: string, given: Given): Origin {
  const { space, source, format, beside, delimiter, 'source-key': key } = given;
  if (source !== undefined || key !== undefined) throw new UsageError('--source and --source-key are for services');
  if (format !== undefined || beside !== undefined || delimiter !== undefined)
    throw new UsageError('--format, --delimiter and --beside are for files of rows');
  if (from === STDIN) throw new UsageError(`--from ${HNSWLIB} reads no standard input: name a folder or an index file`);
  if (space !== undefined && !isSpace(space))
    throw new UsageError(`--space is ${space}; there are ${SPACES.join(', ')}`);
  return { kind: HNSWLIB, path: pathOf(from), space };
}

function fileOrigin(from: string, { format, beside, source, delimiter }: Given): Origin {
  if (source !== undefined) throw new UsageError('--source needs --from');
  const path = from === STDIN ? undefined : pathOf(from);
  const besideFile =
    typeof beside === 'string' ? { path: pathOf(beside), format: known(formatOf(beside), beside) } : undefined;
  const file = { path, format: known(format ?? formatOf(from), from) };
  if (delimiter !== undefined && file.format !== 'csv' && besideFile?.format !== 'csv')
    throw new UsageError('--delimiter is for .csv files');
  return { kind: 'file', ...file, beside: besideFile, delimiter: delimiterIn(delimiter) };
}

const DELIMITER = /^[ -!#-~]$/;

/** One character of ASCII that quotes no field and ends no line. */
function delimiterIn(given: Given[string]): string | undefined {
  if (given === undefined) return undefined;
  const delimiter = given === 'tab' || given === '\\t' ? '\t' : String(given);
  if (delimiter === '\t' || DELIMITER.test(delimiter)) return delimiter;
  throw new UsageError(`--delimiter is ${JSON.stringify(given)}; allowed is one character, such as ; or |, or tab`);
}

function known(format: string | boolean | undefined, file: string): Format {
  if (format === undefined)
    throw new UsageError(`the format of ${file === STDIN ? 'the input' : file} is unknown: name it with --format`);
  if ((FORMATS as readonly unknown[]).includes(format)) return format as Format;
  throw new UsageError(`--format is ${format}; there are ${FORMATS.join(', ')}`);
}

function serviceOrigin(url: string, kind: string, given: Given): Origin {
  const { source, format, beside, delimiter } = given;
  if (!(SERVICES as readonly string[]).includes(kind))
    throw new UsageError(`--from is ${kind}; there are ${[...SERVICES, HNSWLIB].join(', ')}`);
  if (!URL.canParse(url)) throw new UsageError(`${url} is not an address such as http://127.0.0.1:6333`);
  if (typeof source !== 'string')
    throw new UsageError('--source is missing: which collection or table of the service?');
  if (format !== undefined || beside !== undefined || delimiter !== undefined)
    throw new UsageError('--format, --delimiter and --beside are for files');
  const key = given['source-key'];
  const named = { name: source, key: typeof key === 'string' ? key : undefined };
  return { kind: 'service', service: kind as ServiceKind, url: url.replace(/\/$/, ''), ...named };
}

function columnsOf(given: Given): Omit<Columns, 'isNormalised'> {
  const { vector, text, tag, id, metadata, numbers, 'vector-bytes': bytes, 'expires-at': expiresAt } = given;
  const range = typeof vector === 'string' ? /^(.+)\.\.(.+)$/.exec(vector) : null;
  if (range && bytes !== undefined)
    throw new UsageError('--vector-bytes needs one field of bytes: name it with --vector');
  const stray = namesIn(numbers).find((name) => metadata !== undefined && !namesIn(metadata).includes(name));
  if (stray !== undefined) throw new UsageError(`--numbers names ${stray}, which is not in --metadata`);
  return {
    vectorBytes: typeof bytes === 'string' ? knownBytes(bytes) : undefined,
    vector: range ? [range[1]!, range[2]!] : (vector as string | undefined),
    text: text as string | undefined,
    tag: tag as string | undefined,
    id: id as string | undefined,
    expiresAt: expiresAt as string | undefined,
    keyId: given['key-id'] as string | undefined,
    metadata: metadata === undefined ? 'rest' : metadata === 'none' ? [] : namesIn(metadata),
    numbers: new Set(namesIn(numbers)),
  };
}

function knownBytes(option: string): VectorBytes {
  const known = vectorBytesIn(option);
  if (known === undefined) throw new UsageError(`--vector-bytes is ${option}; there are ${VECTOR_BYTES}`);
  return known;
}

const namesIn = (list: Given[string]): string[] =>
  typeof list === 'string' ? list.split(',').map((name) => name.trim()) : [];
