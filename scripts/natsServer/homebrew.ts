import { join } from 'node:path';
import { reasonIn, runProgram } from './program.js';
import type { Source } from './source.js';

const ASK_MS = 30_000;
const INSTALL_MS = 600_000;

/** Installs as Homebrew does, into its own prefix. */
export const homebrew: Source = {
  name: 'Homebrew',
  path: () => undefined,
  async fetch(_cacheDir, onStart) {
    const prefix = await runProgram('brew', ['--prefix'], { timeoutMs: ASK_MS });
    if (!prefix.ok) return { reason: 'there is no brew here' };
    onStart();
    const installed = await runProgram('brew', ['install', '--quiet', 'nats-server'], { timeoutMs: INSTALL_MS });
    return installed.ok
      ? { path: join(prefix.output.trim(), 'bin', 'nats-server') }
      : { reason: reasonIn(installed.output) };
  },
};
