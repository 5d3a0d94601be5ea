/** The command line of a server process: its name, and the address of NATS. Everything else is configuration. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { messageOf } from '../errors/errors.js';
import { commandText } from './commandText.js';

interface ProcessFlags {
  readonly name: string | undefined;
  readonly nats: string | undefined;
}

/** Arguments that are wrong; the message is one line. */
export class UsageError extends Error {}

/**
 * Calls `parseArgs` of Node. Throws UsageError, also for an empty value, such as that of an unset variable. An option that takes
 * one value is refused if it has two: Node would ignore the first.
 */
export function parseFlags<Flags extends ParseArgsConfig>(flags: Flags): ReturnType<typeof parseArgs<Flags>> {
  try {
    const parsed = parseArgs({ ...flags, tokens: true });
    assertWhole(parsed.tokens as readonly Token[], flags.options ?? {});
    return parsed as ReturnType<typeof parseArgs<Flags>>;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // The rest of Node's message is about arguments that begin with a dash.
    throw new UsageError(messageOf(error).split(/\.(?: |\n)/)[0]);
  }
}

/** A token of `parseArgs`. Only an option has a `name`. */
interface Token {
  readonly name?: string;
  readonly rawName?: string;
  readonly value?: string;
}

function assertWhole(tokens: readonly Token[], options: NonNullable<ParseArgsConfig['options']>): void {
  const seen = new Set<string>();
  for (const { name, rawName, value } of tokens) {
    if (name === undefined || value === undefined) continue;
    if (value === '') throw new UsageError(`${rawName} is empty: give a value, or leave it out`);
    if (seen.has(name) && options[name]?.multiple !== true)
      throw new UsageError(`${rawName} is given twice, and takes one value`);
    seen.add(name);
  }
}

const EXIT_USAGE = 2;

/** Names are parts of subjects and keys. The holder of a lease is a name, a dot and more, so a name has no dot. */
const NAME = /^[\w-]{1,64}$/;

const usageOf = (kind: string): string => `${commandText(kind, '[--name NAME] [--nats URL[,URL]…]')}

  --name NAME  1 to 64 of A-Z a-z 0-9 _ -; no other ${kind} of the cluster may have it
  --nats URL   such as nats://host:4222; several separated by commas (default VOUCH_NATS_URL)

All else is set by environment variables, or by a file that VOUCH_CONFIG names.`;

/** Exits with one line if the arguments are wrong, and with the usage for `--help`. */
export function readProcessFlagsOrExit(kind: 'shard' | 'coordinator'): ProcessFlags {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`${usageOf(kind)}\n`);
    process.exit(0);
  }
  try {
    return parseProcessFlags(args);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}; ${commandText(kind, '--help')} shows the usage\n`);
    process.exit(EXIT_USAGE);
  }
}

/** Throws UsageError. */
export function parseProcessFlags(args: readonly string[]): ProcessFlags {
  const options = { name: { type: 'string' }, nats: { type: 'string' } } as const;
  const { name, nats } = parseFlags({ args: [...args], options }).values;
  if (name !== undefined && !NAME.test(name))
    throw new UsageError(`--name is ${JSON.stringify(name)}; allowed are 1 to 64 of A-Z a-z 0-9 _ -`);
  return { name, nats };
}
