/** Reads the command line of the verifier. */
import { existsSync } from 'node:fs';
import { weaknessOf } from '../../verifier/index.js';
import { commandText, parseFlags, UsageError } from '../terminal/commandLine.js';
import { unknownWord } from '../terminal/unknownWord.js';
import { callersPath } from './files.js';

/** Files to check against a log. */
export interface ClaimFiles {
  readonly receipts: readonly string[];
  readonly checkpoints: readonly string[];
  readonly erasures: readonly string[];
  /** The public key that checkpoints must be signed with, hex: the last one of `signers`. */
  readonly key: string | undefined;
  /** The public keys that an erasure may be signed with, hex. */
  readonly signers: readonly string[];
  /** The file of the policy for the service log that checkpoints must be in. */
  readonly policy: string | undefined;
}

interface Given extends ClaimFiles {
  readonly record: string | undefined;
  readonly collection: string | undefined;
  readonly project: string | undefined;
  /** Whether the keys that the log needs are listed. */
  readonly keys: boolean;
}

/** `file`: a file, `-` for standard input, or for `folder` the data folder. */
export interface FileRequest extends Given {
  readonly command: 'receipt' | 'inclusion' | 'consistency' | 'checkpoint' | 'erasure' | 'access' | 'log' | 'folder';
  readonly file: string;
}

export interface StreamRequest extends Given {
  readonly command: 'stream';
  readonly nats: string;
  readonly collection: string;
}

/** A request; fields that its command does not use are empty. */
export type VerifyRequest = FileRequest | StreamRequest;

const FORMS = [
  'receipt FILE [--record FILE]',
  'inclusion FILE [--receipt FILE [--record FILE]] [--checkpoint FILE]… [--key …] [--policy …] [--collection …]',
  'consistency FILE [--checkpoint FILE]… [--key PUBLIC_KEY] [--policy FILE] [--collection …]',
  'checkpoint FILE [--key PUBLIC_KEY] [--policy FILE] [--collection NAME|ID] [--project NAME]',
  'erasure FILE [--key PUBLIC_KEY]… [--policy FILE]',
  'access FILE|DATA_DIR [--checkpoint FILE]… [--policy FILE] [--collection NAME|ID] [--project NAME]',
  'log FILE [--keys] [--receipt FILE]… [--checkpoint FILE]… [--erasure FILE]… [--key PUBLIC_KEY] [--collection …] [--project …]',
  'folder DATA_DIR [--collection NAME|ID] [--project NAME] [--receipt …] [--checkpoint …] [--erasure …] [--key …]',
  'stream --nats URL --collection NAME|ID [--project NAME] [--receipt …] [--checkpoint …] [--erasure …] [--key …]',
];

export const VERIFY_USAGE = `${FORMS.map((args) => commandText('verify', args)).join('\n')}

FILE may be - for standard input, but for a log; a FILE without a command is a receipt. Ends with
  0  where all holds
  1  where something does not
  2  where it could not be checked
  3  where all agrees, but the signer is unknown: something is signed, and no --key says with which key
  4  where all agrees, but something belongs to another collection than --collection, the log or another checkpoint says

With --policy, each checkpoint must be in a service log that the policy accepts (c2sp.org/tlog-policy): ask the service for
it with logged=true. The log and its witnesses then vouch for the signer.

With --keys, the ids of the vault keys that open what the log has encrypted follow, one a line.

VOUCH_NATS_NKEY or VOUCH_NATS_CREDS names the file of the login at the NATS servers: data/nats/users/operator/seed.nk for those
of ${commandText('start')}.`;

const OPTIONS = {
  record: { type: 'string' },
  receipt: { type: 'string', multiple: true },
  checkpoint: { type: 'string', multiple: true },
  erasure: { type: 'string', multiple: true },
  key: { type: 'string', multiple: true },
  policy: { type: 'string' },
  collection: { type: 'string' },
  project: { type: 'string' },
  nats: { type: 'string' },
  keys: { type: 'boolean' },
} as const;
type Option = keyof typeof OPTIONS;

const CLAIMS = ['receipt', 'checkpoint', 'key'] as const;
const OF_LOG = [...CLAIMS, 'erasure'] as const;
const SELECTION = ['collection', 'project'] as const;
/** The options of each command. */
const ALLOWED: Readonly<Record<VerifyRequest['command'], readonly Option[]>> = {
  receipt: ['record'],
  inclusion: ['record', 'policy', ...CLAIMS, ...SELECTION],
  consistency: ['checkpoint', 'key', 'policy', ...SELECTION],
  checkpoint: ['key', 'policy', ...SELECTION],
  erasure: ['key', 'policy'],
  access: ['checkpoint', 'policy', ...SELECTION],
  log: ['keys', ...OF_LOG, ...SELECTION],
  folder: [...SELECTION, ...OF_LOG],
  stream: ['nats', ...SELECTION, ...OF_LOG],
};
const PUBLIC_KEY = /^[0-9a-f]{64}$/;

/** Without a command the file is a receipt, and without a file standard input. Throws UsageError. */
export function parseVerifyRequest(args: readonly string[], isTyped = false): VerifyRequest {
  const { values, positionals } = parseFlags({ args: [...args], allowPositionals: true, options: OPTIONS });
  const [first, ...others] = positionals;
  const isCommand = first !== undefined && Object.hasOwn(ALLOWED, first);
  const command = isCommand ? (first as VerifyRequest['command']) : 'receipt';
  const files = isCommand ? others : positionals;
  if (!isCommand && files.length > 1) throw new UsageError(unknownWord('command', first, Object.keys(ALLOWED)));
  if (!isCommand && first !== undefined && first !== '-' && !existsSync(callersPath(first)))
    throw new UsageError(
      `the file ${JSON.stringify(first)} does not exist, and ${unknownWord('command', first, Object.keys(ALLOWED))}`,
    );
  if (files.length > (command === 'stream' ? 0 : 1))
    throw new UsageError(`${command} takes no argument ${files.at(-1)}`);
  if (first === undefined && isTyped) throw new UsageError('name a file to check, or - for standard input');
  const odd = Object.keys(values).find((option) => !ALLOWED[command].includes(option as Option));
  if (odd !== undefined) throw new UsageError(`--${odd} does not go with ${command}`);
  const {
    receipt: receipts = [],
    checkpoint: checkpoints = [],
    erasure: erasures = [],
    key: signers = [],
    policy,
    collection,
    project,
    nats,
    record,
    keys = false,
  } = values;
  for (const signer of signers) parsePublicKey('--key', signer);
  if (signers.length > 1 && command !== 'erasure') throw new UsageError('only an erasure takes --key more than once');
  const key = signers.at(-1);
  const given = { receipts, checkpoints, erasures, key, signers, policy, record, collection, project, keys };
  const file = files[0] ?? (isCommand ? undefined : '-');
  assertUsed(command, given);
  if (command === 'stream') {
    if (nats === undefined || collection === undefined) throw new UsageError('stream takes --nats and --collection');
    return { ...given, command, nats, collection };
  }
  if (file === undefined) throw new UsageError(`${command} takes a ${command === 'folder' ? 'folder' : 'file'}`);
  if (command === 'log' && file === '-')
    throw new UsageError('a log is read from a file: its records are read more than once');
  return { ...given, command, file };
}

/** The public key that the option gives. Throws UsageError. */
export function parsePublicKey(option: string, key: string): string {
  if (!PUBLIC_KEY.test(key)) throw new UsageError(`${option} takes 64 lowercase hex digits`);
  const weakness = weaknessOf(Buffer.from(key, 'hex'));
  if (weakness !== undefined) throw new UsageError(`${option} is not the public key of a signer: ${weakness}`);
  return key;
}

/** Throws UsageError if an option would not be checked against anything. */
function assertUsed(
  command: VerifyRequest['command'],
  { receipts, checkpoints, erasures, key, policy, record, collection, project }: Given,
): void {
  if (command === 'erasure') return;
  if (policy !== undefined && checkpoints.length === 0 && command !== 'checkpoint')
    throw new UsageError('--policy is about checkpoints: give one with --checkpoint');
  if (command === 'access') return;
  // An export holds a checkpoint of its own.
  if (key !== undefined && checkpoints.length === 0 && command !== 'checkpoint' && command !== 'log')
    throw new UsageError('--key is about checkpoints: give one with --checkpoint');
  const isNamed = collection !== undefined || project !== undefined;
  if (isNamed && checkpoints.length === 0 && (command === 'inclusion' || command === 'consistency'))
    throw new UsageError('a proof does not name its collection, but a checkpoint does: give one with --checkpoint');
  if (command === 'inclusion' && record !== undefined && receipts.length !== 1)
    throw new UsageError('--record is about one receipt: give it with --receipt');
  if (command === 'folder' && collection === undefined && receipts.length + checkpoints.length + erasures.length > 0)
    throw new UsageError('--receipt, --checkpoint and --erasure are about one collection: name it with --collection');
}
