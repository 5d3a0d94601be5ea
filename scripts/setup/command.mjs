/** Runs a program quietly: its output is shown only when it fails. */
import { spawn } from 'node:child_process';
import { guard, Interrupted, isInterrupted } from './interrupt.mjs';

/** Error that says what went wrong and what to do; shown without a stack. */
export class SetupError extends Error {}

/** Largest number of lines shown: enough for the errors of a compiler, not for a log. */
const SHOWN_LINES = 60;

/** Runs a program. Its failure is a SetupError with `name` for the program, and `advice` at the end. */
export function run(name, [program, args], { cwd, env = process.env, advice }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    guard(child);
    let output = '';
    const collect = (chunk) => {
      output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    child.once('error', (error) =>
      reject(new SetupError(`${name} could not be started (${error.message}). ${advice}`)),
    );
    child.once('close', (code, signal) => {
      if (isInterrupted()) return reject(new Interrupted(`${name} was stopped`));
      if (code === 0) return resolve();
      const lines = output.trimEnd().split('\n');
      const shown = lines.length > SHOWN_LINES ? ['…', ...lines.slice(-SHOWN_LINES)] : lines;
      reject(new SetupError([...shown, '', `${name} ended with ${signal ?? `code ${code}`}. ${advice}`].join('\n')));
    });
  });
}
