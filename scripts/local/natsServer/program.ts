import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { codeOf } from '../../../shared/files/durable.js';

const OUTPUT_MAX_BYTES = 4 * 1024 * 1024;

interface RunOptions {
  readonly cwd?: string;
  /** Added to the environment of this process. */
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
  /** Ends the program when aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs a program and returns its output. Throws an Error with the line of output that best explains a failure. */
export async function runProgram(program: string, args: readonly string[], options: RunOptions): Promise<string> {
  const { cwd, signal, timeoutMs: timeout } = options;
  const env = { ...process.env, LC_ALL: 'C', ...options.env };
  try {
    const run = promisify(execFile)(program, [...args], { cwd, timeout, signal, maxBuffer: OUTPUT_MAX_BYTES, env });
    const { stdout, stderr } = await run;
    return `${stdout}${stderr}`.trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new Error(`${program} is not installed here`);
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '');
    const reason = lines.find((line) => /^(?:E:|Error:|curl:|fatal)/.test(line)) ?? lines.at(-1) ?? message;
    throw new Error(reason.trim());
  }
}
