/** `npm run monitor`: follows a service log, keeps a state file, and ends with an alarm if the history was changed. */
import { setTimeout as delay } from 'node:timers/promises';
import { LogAlarm } from '../verifier/index.js';
import { Monitor } from './monitor/monitor.js';
import { MONITOR_USAGE, parseMonitorRequest } from './monitor/request.js';
import { runCommand } from './terminal/commandLine.js';
import { printable, say } from './terminal/line.js';
import { onSignals } from './terminal/signals.js';

const EXIT_ALARM = 1;
const EXIT_UNCHECKED = 2;

await runCommand({ name: 'monitor', usage: MONITOR_USAGE, exitFailed: EXIT_UNCHECKED }, async (args) => {
  const request = parseMonitorRequest(args);
  const monitor = await Monitor.open(request);
  const ending = new AbortController();
  onSignals(
    () => ending.abort(),
    () => process.exit(EXIT_UNCHECKED),
  );
  for (;;) {
    try {
      say('done', 'log', printable(await monitor.visit()));
    } catch (error) {
      if (error instanceof LogAlarm) {
        say('failed', 'ALARM', printable(error.message));
        say('plain', 'evidence', await monitor.keepEvidence(error));
        process.exitCode = EXIT_ALARM;
        return;
      }
      if (request.isOnce) throw new Error(printable((error as Error).message));
      say('warning', 'log', `it could not be checked: ${printable((error as Error).message)}`);
    }
    if (request.isOnce) return;
    await delay(request.everyMs, undefined, { signal: ending.signal }).catch(() => undefined);
    if (ending.signal.aborted) return;
  }
});
