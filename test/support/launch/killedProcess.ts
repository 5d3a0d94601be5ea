/** Programs that end by SIGKILL before one of their file operations. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { guarded } from '../../../scripts/local/supervisor/guarded.js';

export interface Ended {
  readonly printed: string;
  /** Null if it ended normally. */
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
}

/** Runs an ES module in another process. `source`: its text. */
export async function runProgram(source: string): Promise<Ended> {
  const child = guarded(
    spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { printed, signal, code };
}

/**
 * Returns the source of a program that SIGKILL ends before its `step`th write, sync, link, rename or unlink after its call
 * of `arm()`. It first prints that operation, with the path of an open file. `source` must import modules with `await
 * import`.
 */
export const killedAt = (step: number, source: string): string => `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  let steps = -Infinity;
  const arm = () => { steps = 0; };
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
  ${source}`;
