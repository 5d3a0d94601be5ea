/** What the command line of the verifier asks for. */
import { existsSync } from 'node:fs';
import { parseFlags, UsageError } from '../../terminal/commandLine.js';
import { callersPath } from './files.js';

/** What may be held against a log. Files. */
export interface ClaimFiles {
  readonly receipts: readonly string[];
  readonly checkpoints: readonly string[];
  /** The public key that checkpoints must be signed with, hex. */
  readonly key: string | undefined;
}

interface Selection {
  readonly collection: string | undefined;
  readonly project: string | undefined;
}

export type Request =
  | { readonly command: 'receipt'; readonly file: string; readonly record: string | undefined }
  | ({ readonly command: 'inclusion'; readonly file: string; readonly record: string | undefined } & ClaimFiles)
  | ({ readonly command: 'consistency'; readonly file: string } & ClaimFiles)
  | { readonly command: 'checkpoint'; readonly file: string; readonly key: string | undefined }
  | ({ readonly command: 'log'; readonly file: string } & ClaimFiles)
  | ({ readonly command: 'folder'; readonly dataDir: string } & Selection & ClaimFiles)
  | ({ readonly command: 'stream'; readonly nats: string; readonly collection: string } & Selection & ClaimFiles);

export const USAGE = `npm run verify -- receipt FILE [--record FILE]
npm run verify -- inclusion FILE [--receipt FILE [--record FILE]] [--checkpoint FILE]… [--key PUBLIC_KEY]
npm run verify -- consistency FILE [--checkpoint FILE]… [--key PUBLIC_KEY]
npm run verify -- checkpoint FILE [--key PUBLIC_KEY]
npm run verify -- log FILE [--receipt FILE]… [--checkpoint FILE]… [--key PUBLIC_KEY]
npm run verify -- folder DATA_DIR [--collection NAME|ID] [--project NAME] [--receipt …] [--checkpoint …] [--key …]
npm run verify -- stream --nats URL --collection NAME|ID [--project NAME] [--receipt …] [--checkpoint …] [--key …]

FILE may be - for standard input, but for a log; a FILE without a command is a receipt. Ends with 0 where all holds, 1 where
something does not, 2 where it could not be checked.`;

const OPTIONS = {
  record: { type: 'string' },
  receipt: { type: 'string', multiple: true },
  checkpoint: { type: 'string', multiple: true },
  key: { type: 'string' },
  collection: { type: 'string' },
  project: { type: 'string' },
  nats: { type: 'string' },
} as const;
type Option = keyof typeof OPTIONS;

const CLAIMS = ['receipt', 'checkpoint', 'key'] as const;
const SELECTION = ['collection', 'project'] as const;
/** What goes with each command. */
const ALLOWED: Readonly<Record<Request['command'], readonly Option[]>> = {
  receipt: ['record'],
  inclusion: ['record', ...CLAIMS],
  consistency: ['checkpoint', 'key'],
  checkpoint: ['key'],
  log: CLAIMS,
  folder: [...SELECTION, ...CLAIMS],
  stream: ['nats', ...SELECTION, ...CLAIMS],
};
const PUBLIC_KEY = /^[0-9a-f]{64}$/;

/** Without a command the file is a receipt; without a file too it is standard input, which nobody types. Throws UsageError. */
export function parseRequest(args: readonly string[], isTyped = false): Request {
  const { values, positionals } = parseFlags({ args: [...args], allowPositionals: true, options: OPTIONS });
  const [first, ...others] = positionals;
  const isCommand = first !== undefined && Object.hasOwn(ALLOWED, first);
  const command = isCommand ? (first as Request['command']) : 'receipt';
  const files = isCommand ? others : positionals;
  if (!isCommand && files.length > 1) throw new UsageError(`there is no command ${first}`);
  if (!isCommand && first !== undefined && first !== '-' && !existsSync(callersPath(first)))
    throw new UsageError(`there is neither a command nor a file ${first}`);
  if (files.length > (command === 'stream' ? 0 : 1)) throw new UsageError(`what is ${files.at(-1)}?`);
  if (first === undefined && isTyped) throw new UsageError('what shall be checked?');
  const odd = Object.keys(values).find((option) => !ALLOWED[command].includes(option as Option));
  if (odd !== undefined) throw new UsageError(`--${odd} does not go with ${command}`);
  const { receipt: receipts = [], checkpoint: checkpoints = [], key, collection, project, nats, record } = values;
  if (key !== undefined && !PUBLIC_KEY.test(key)) throw new UsageError('--key takes 64 lowercase hex');
  const claims = { receipts, checkpoints, key };
  const file = files[0] ?? (isCommand ? undefined : '-');
  assertUsed(command, { ...claims, record, collection });
  if (command === 'stream') {
    if (nats === undefined || collection === undefined) throw new UsageError('stream takes --nats and --collection');
    return { command, nats, collection, project, ...claims };
  }
  if (file === undefined) throw new UsageError(`${command} takes a ${command === 'folder' ? 'folder' : 'file'}`);
  switch (command) {
    case 'receipt':
      return { command, file, record };
    case 'checkpoint':
      return { command, file, key };
    case 'inclusion':
      return { command, file, record, ...claims };
    case 'log':
      if (file === '-') throw new UsageError('a log is read from a file: its records are looked at more than once');
      return { command, file, ...claims };
    case 'folder':
      return { command, dataDir: file, collection, project, ...claims };
    default:
      return { command, file, ...claims };
  }
}

type Given = ClaimFiles & { readonly record: string | undefined; readonly collection: string | undefined };

/** What was given must be held against something: nobody shall think that it was. Throws UsageError. */
function assertUsed(command: Request['command'], { receipts, checkpoints, key, record, collection }: Given): void {
  // An export holds a checkpoint of its own.
  if (key !== undefined && checkpoints.length === 0 && command !== 'checkpoint' && command !== 'log')
    throw new UsageError('--key is about checkpoints: give one with --checkpoint');
  if (command === 'inclusion' && record !== undefined && receipts.length !== 1)
    throw new UsageError('--record is about one receipt: give it with --receipt');
  if (command === 'folder' && collection === undefined && receipts.length + checkpoints.length > 0)
    throw new UsageError('--receipt and --checkpoint are about one collection: name it with --collection');
}
