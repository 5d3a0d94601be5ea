/**
 * `npm run soak`: runs a cluster under a writing and searching load, with faults of all kinds one after another. Then
 * checks every answer against the logs. Exits with 1 if anything was lost, stale or wrong, or a process ended by
 * itself.
 */

import { runCommand } from '../../scripts/terminal/commandLine.js';
import { say } from '../../scripts/terminal/line.js';
import { EXIT_INTERRUPTED, onSignals } from '../../scripts/terminal/signals.js';
import { deleteTree } from '../../shared/files/durable.js';
import { readOptions, USAGE } from './options.js';
import { failuresOf, reportLines } from './report.js';
import { runSoak } from './run.js';

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  const { servers, shards, coordinators, seed, durationMs } = options;
  const parts = `${servers} NATS servers, ${shards} shards, ${coordinators} coordinators`;
  say('plain', 'soak', `${parts}; faults for ${(durationMs / 60_000).toFixed(1)} minutes, seed ${seed}`);
  const interrupted = new AbortController();
  // The answers so far are still checked.
  onSignals(
    () => {
      interrupted.abort();
      say('plain', 'soak', 'no more faults; checking the answers so far, Ctrl-C again to end at once …');
    },
    () => process.exit(EXIT_INTERRUPTED),
  );
  const report = (atMs: number, text: string): void => say('plain', clockText(atMs), text);
  const result = await runSoak(options, report, interrupted.signal);
  process.stdout.write(`\n${reportLines(result, options).join('\n')}\n`);
  const failed = failuresOf(result).length > 0;
  if (failed || options.keep) say(failed ? 'failed' : 'done', 'soak', `kept: ${result.folder}`);
  else await deleteTree(result.folder);
  return failed ? 1 : 0;
}

/** 754000 → `12:34` */
function clockText(ms: number): string {
  const secs = Math.floor(ms / 1_000);
  return `${Math.floor(secs / 60)}:${String(secs % 60).padStart(2, '0')}`;
}

await runCommand({ name: 'soak', usage: USAGE }, async (args) => {
  process.exitCode = await main(args);
});
