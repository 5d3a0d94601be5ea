/** Runs a program to its end without showing its output. */
import { execFile } from 'node:child_process';
import { codeOf } from '../../shared/durable.js';

export interface Outcome {
  readonly ok: boolean;
  /** What it wrote, standard error last; why it could not be started where it could not. */
  readonly output: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly timeoutMs: number;
}

const OUTPUT_MAX_BYTES = 4 * 1024 * 1024;

export function runProgram(program: string, args: readonly string[], { cwd, timeoutMs }: RunOptions): Promise<Outcome> {
  const options = { cwd, timeout: timeoutMs, maxBuffer: OUTPUT_MAX_BYTES, env: { ...process.env, LC_ALL: 'C' } };
  return new Promise((resolve) => {
    execFile(program, [...args], options, (error, stdout, stderr) => {
      const missing = codeOf(error) === 'ENOENT' ? `there is no ${program} here` : error?.message;
      resolve({ ok: error === null, output: `${stdout}${stderr}`.trim() || (missing ?? '') });
    });
  });
}

/** The line of a program's output that most likely says what went wrong. */
export function reasonIn(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return (lines.find((line) => /^(?:E:|Error:|curl:|fatal)/.test(line)) ?? lines.at(-1) ?? 'no reason given').trim();
}
