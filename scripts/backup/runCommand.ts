/** How export and import begin and end. */
import type { Config } from '../../config/config.js';
import { loadConfigOrExit } from '../../config/load.js';
import { messageOf } from '../../shared/errors.js';
import { UsageError } from '../keys/request.js';
import { say } from '../terminal/line.js';

const EXIT_USAGE = 2;

/** What fails is one line on standard error; exits with 2 where the command line asks for nothing we know, else with 1. */
export async function runCommand(name: string, usage: string, work: (config: Config) => Promise<void>): Promise<void> {
  try {
    await work(loadConfigOrExit(process.env));
  } catch (error) {
    const isUsage = error instanceof UsageError;
    say('failed', name, messageOf(error));
    if (isUsage) process.stderr.write(`\n${usage}\n`);
    process.exitCode = isUsage ? EXIT_USAGE : 1;
  }
}
