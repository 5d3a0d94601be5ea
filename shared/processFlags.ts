/** The command line of a server process: the name it goes by, and where NATS is. All else is configuration. */
import { parseArgs } from 'node:util';
import { messageOf } from './errors.js';

export interface ProcessFlags {
  readonly name: string | undefined;
  readonly nats: string | undefined;
}

const EXIT_USAGE = 2;

/** It stands in subjects and keys, and before the dot in the holder of a lease. */
const NAME = /^[\w-]{1,64}$/;

const usageOf = (kind: string): string => `npm run ${kind} -- [--name NAME] [--nats URL[,URL]…]

  --name NAME  1 to 64 of A-Z a-z 0-9 _ -; no other ${kind} of the cluster may have it
  --nats URL   such as nats://host:4222; several separated by commas (default VOUCH_NATS_URL)

All else is set by environment variables, or by a file that VOUCH_CONFIG names.`;

/** Prints one line and exits where the arguments ask for nothing we know; prints the usage and exits for `--help`. */
export function readProcessFlagsOrExit(kind: 'shard' | 'coordinator'): ProcessFlags {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`${usageOf(kind)}\n`);
    process.exit(0);
  }
  try {
    return parseProcessFlags(args);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}; npm run ${kind} -- --help says what there is\n`);
    process.exit(EXIT_USAGE);
  }
}

/** Throws an Error of one line. */
export function parseProcessFlags(args: readonly string[]): ProcessFlags {
  const { name, nats } = valuesOf(args);
  if (name !== undefined && !NAME.test(name))
    throw new Error(`--name is ${JSON.stringify(name)}; allowed are 1 to 64 of A-Z a-z 0-9 _ -`);
  return { name, nats };
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { name: { type: 'string' }, nats: { type: 'string' } } }).values;
  } catch (error) {
    // Node goes on about arguments that begin with a dash, which nobody asked about.
    throw new Error(messageOf(error).split(/\.(?: |\n)/)[0]);
  }
}
