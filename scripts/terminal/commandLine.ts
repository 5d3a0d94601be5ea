/** What all commands do with their arguments: one way to read them, to say what is wrong with them, and to answer `--help`. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { isDefect } from './defect.js';
import { say } from './line.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** As of a program that SIGPIPE has ended, which Node does not let happen. */
const EXIT_UNREAD = 141;

/** The command line asks for nothing we know; the message says what, in one line. */
export class UsageError extends Error {}

/** As `parseArgs` of Node. Throws UsageError. */
export function parseFlags<Flags extends ParseArgsConfig>(flags: Flags): ReturnType<typeof parseArgs<Flags>> {
  try {
    return parseArgs(flags);
  } catch (error) {
    // Node goes on about arguments that begin with a dash, which nobody asked about.
    throw new UsageError((error as Error).message.split(/\.(?: |\n)/)[0]);
  }
}

export interface Command {
  readonly name: string;
  /** Printed for `--help`, and below what is wrong with the arguments. */
  readonly usage: string;
  /** Of an end for any other reason than the arguments. */
  readonly exitFailed?: number;
}

/** What fails is one line on standard error; exits with 2 where the arguments ask for nothing we know. */
export async function runCommand(
  { name, usage, exitFailed = EXIT_FAILED }: Command,
  work: (args: readonly string[]) => Promise<void>,
): Promise<void> {
  endWithReader();
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  try {
    await work(args);
  } catch (error) {
    const isUsage = error instanceof UsageError;
    const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
    say('failed', name, isDefect(error) ? stack : message);
    if (isUsage) process.stderr.write(`\n${usage}\n`);
    process.exitCode = isUsage ? EXIT_USAGE : exitFailed;
  }
}

/** Nobody reads on, as in `npm run verify … | head -1`; a command that has something to end first listens for that itself. */
function endWithReader(): void {
  const { stdout } = process;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (stdout.listenerCount('error') === 1) process.exit(EXIT_UNREAD);
  });
}
