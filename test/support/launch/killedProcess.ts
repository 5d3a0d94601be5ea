/** Programs that kill themselves in the middle of file writes, like a power cut. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { guarded } from '../../../scripts/local/supervisor/guarded.js';

export interface Ended {
  readonly printed: string;
  /** Null if it ended normally. */
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
}

/** Runs an ES module as a process of its own. */
export async function runProgram(program: string): Promise<Ended> {
  const child = guarded(
    spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { printed, signal, code };
}

/**
 * Wraps a program so that SIGKILL ends it before its `step`th write, sync, link, rename or unlink after `armed()`. It
 * prints that step. Its modules must be imported with `await import`.
 */
export const killedAt = (step: number, program: string): string => `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  let steps = -Infinity;
  const armed = () => { steps = 0; };
  const counted = (name, call) => (...given) => {
    if (++steps === ${step}) {
      fs.writeSync(1, name);
      process.kill(process.pid, 'SIGKILL');
    }
    return call(...given);
  };
  for (const name of ['link', 'rename', 'unlink']) fs.promises[name] = counted(name, fs.promises[name]);
  const open = fs.promises.open;
  fs.promises.open = async (path, flags, mode) => {
    const file = await open(path, flags, mode);
    for (const name of ['write', 'writeFile', 'sync']) file[name] = counted(name + ' ' + path, file[name].bind(file));
    return file;
  };
  syncBuiltinESMExports();
  ${program}`;
