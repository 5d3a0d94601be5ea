/** Finds and runs programs of third parties, which a machine may lack. */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

const { GOBIN, GOPATH } = process.env;
/** Install folders of systems, Go and pip, which need not be on PATH. */
const USUAL_FOLDERS = [
  ...['/usr/local/sbin', '/usr/sbin', GOBIN || join(GOPATH || join(homedir(), 'go'), 'bin')],
  join(homedir(), '.local', 'bin'),
];
const WITHIN_MS = 60_000;
const OUTPUT_MAX_BYTES = 32 * 1024 * 1024;

/** Path of the program; undefined if this machine lacks it. */
export function findTool(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), ...USUAL_FOLDERS];
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface ToolRun {
  readonly code: number;
  readonly stdout: string;
  /** Both output streams. */
  readonly output: string;
}

interface Where {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs a program until it ends. */
export const runTool = (path: string, args: readonly string[], input = '', where: Where = {}): Promise<ToolRun> =>
  new Promise((resolve) => {
    const options = { ...where, timeout: WITHIN_MS, maxBuffer: OUTPUT_MAX_BYTES };
    const child = execFile(path, [...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(child.exitCode ?? 1), stdout, output: `${stdout}${stderr}` });
    });
    child.stdin?.on('error', () => {}).end(input);
  });
