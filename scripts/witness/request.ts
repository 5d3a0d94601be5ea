/** Reads the command line of the witness. */
import { isKeyName, parseVerifierKey, type VerifierKey } from '../../verifier/index.js';
import { commandText, parseFlags, UsageError } from '../terminal/commandLine.js';

export interface WitnessRequest {
  readonly folder: string;
  readonly name: string;
  readonly logs: readonly VerifierKey[];
  readonly host: string;
  readonly port: number;
}

export const WITNESS_USAGE = `${commandText('witness', '--name NAME --log VKEY [--log VKEY]… [--folder FOLDER] [--listen HOST:PORT]')}

NAME is the name of its key, such as witness.example.com; VKEY the key of a log, from the log's operator. The folder
(default: witness-data) gets its key, witness.key, and what it has seen, seen.json. It listens on 127.0.0.1:8082; others reach
it through a proxy that ends TLS. It prints the line that a policy has for it.`;

const OPTIONS = {
  name: { type: 'string' },
  log: { type: 'string', multiple: true },
  folder: { type: 'string', default: 'witness-data' },
  listen: { type: 'string', default: '127.0.0.1:8082' },
} as const;
const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/;

/** Throws UsageError. */
export function parseWitnessRequest(args: readonly string[]): WitnessRequest {
  const { name, log = [], folder, listen } = parseFlags({ args: [...args], options: OPTIONS }).values;
  if (name === undefined || !isKeyName(name))
    throw new UsageError('--name takes the name of a key, without blanks and +');
  if (log.length === 0) throw new UsageError('--log takes the verifier key of a log: <name>+<key id>+<base64>');
  const [, bracketed, plain, port] = ADDRESS.exec(listen) ?? [];
  if (port === undefined || Number(port) > 65_535) throw new UsageError('--listen takes HOST:PORT');
  return { name, folder, logs: log.map(logKey), host: (bracketed ?? plain)!, port: Number(port) };
}

function logKey(text: string): VerifierKey {
  try {
    const key = parseVerifierKey(text);
    if (key.type !== 1) throw new Error(`${key.name} is the key of a witness and not of a log`);
    return key;
  } catch (error) {
    throw new UsageError(`--log: ${(error as Error).message}`);
  }
}
