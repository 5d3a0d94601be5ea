/** The command line of every command: reads arguments, reports errors, and answers `--help`. */
import { DURATION_MAX_MS } from '../../config/config.js';
import { OTHERS_MODE } from '../../shared/files/durable.js';
import { fileMessage, withName } from '../../shared/files/fileErrors.js';
import { commandText } from '../../shared/process/commandText.js';
import { parseFlags, UsageError } from '../../shared/process/processFlags.js';
import { say } from './line.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** The exit code of a program that SIGPIPE ends; Node ignores that signal. */
const EXIT_UNREAD = 141;
/** Options that npm has too: a file `.npmrc` may set them. */
const OPTIONS_OF_NPM = ['--access', '--json', '--key', '--only', '--scope'];

export { commandText, parseFlags, UsageError };

interface Command {
  readonly name: string;
  /** Printed for `--help`. */
  readonly usage: string;
  /** The exit code of any failure except wrong arguments. */
  readonly exitFailed?: number;
}

/**
 * Runs a command. A failure is one line on standard error; wrong arguments exit with 2, and the line names `--help`. Sets the umask,
 * so that other users cannot read the files that the command or a program it starts creates, such as those of nats-server.
 */
export async function runCommand(
  { name, usage, exitFailed = EXIT_FAILED }: Command,
  work: (args: readonly string[]) => Promise<void>,
): Promise<void> {
  endWithReader(name, exitFailed);
  process.umask(OTHERS_MODE);
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
    const advice = isUsage ? `${message.endsWith('?') ? '' : ';'} ${usageAdvice(name, usage)}` : '';
    say('failed', name, isDefect(error) ? stack : (fileMessage(error) ?? `${message}${advice}`));
    process.exitCode = isUsage ? EXIT_USAGE : exitFailed;
  }
}

/** Without `--` before them, npm reads options itself. It passes on their values alone, and shows the options as variables. */
function usageAdvice(name: string, usage: string): string {
  const { env } = process;
  const isRead = (option: string): boolean =>
    !OPTIONS_OF_NPM.includes(option) && `npm_config_${option.slice(2).replaceAll('-', '_')}` in env;
  const taken = env.npm_lifecycle_event === name ? usage.match(/--[a-z][a-z-]*/g)?.find(isRead) : undefined;
  return taken === undefined
    ? `${commandText(name, '--help')} shows the usage`
    : `npm has read ${taken} itself: write -- before the arguments, as in ${commandText(name, '--help')}`;
}

/**
 * Exits when standard output is closed, as in `npm run verify … | head -1`, unless the command listens for that itself.
 */
function endWithReader(name: string, exitFailed: number): void {
  const { stdout } = process;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      say('failed', name, fileMessage(withName(error, 'standard output')) ?? error.message);
      process.exit(exitFailed);
    }
    if (stdout.listenerCount('error') === 1) process.exit(EXIT_UNREAD);
  });
}

const UNIT_MS = { seconds: 1_000, minutes: 60_000, hours: 3_600_000 } as const;

/** Reads a time above 0, by default at most 7 days. Fractions are allowed. Throws UsageError. */
export function durationMs(
  flag: string,
  text: string,
  unit: keyof typeof UNIT_MS,
  mostMs: number = DURATION_MAX_MS,
): number {
  const timeMs = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * UNIT_MS[unit] : Number.NaN;
  if (timeMs > 0 && timeMs <= mostMs) return timeMs;
  throw new UsageError(
    `${flag} is ${text}; allowed is a number of ${unit} above 0 and at most ${mostMs / UNIT_MS[unit]}`,
  );
}

/** Whether the error is a defect of the program, not of the configuration or the machine: its stack is then shown. */
export const isDefect = (error: unknown): error is Error =>
  error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;

/** The folder in which the person called the command: npm changes into the project's folder. */
export const callersFolder = (): string => process.env.INIT_CWD ?? process.cwd();
