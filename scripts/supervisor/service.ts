/** The life of a command that serves until it is told to stop. */
import { strayVariables } from '../../config/load.js';
import { messageOf } from '../../shared/errors.js';
import { isDefect } from '../terminal/defect.js';
import { say } from '../terminal/line.js';
import { EXIT_INTERRUPTED, onSignals } from '../terminal/signals.js';
import { type Welcome, welcome } from './welcome.js';

export interface Service {
  /** Resolves when everything serves. A `signal` that is aborted ends the attempt early, with any error. */
  start(signal: AbortSignal): Promise<Welcome>;
  /** Stops what was started, also when the start is still under way or has failed. May be called again. */
  stop(): Promise<void>;
  /** Ends everything at once. */
  kill(): void;
}

/** What is shown while the service serves. */
export interface Show {
  /** Throws where there is nothing to show: the service is stopped again. */
  begin(up: Welcome): Promise<void>;
  /** Also where it has not begun. The terminal is as it was when this returns. */
  end(): void;
}

/**
 * Starts the service and greets; stops it at the first SIGINT or SIGTERM and exits with 0; at a second one kills it. A
 * start that fails is one line, and exits with 1.
 */
export async function runService(service: Service, show?: Show): Promise<void> {
  for (const name of strayVariables(process.env))
    say('warning', 'settings', `${name} sets nothing; the variables that do are under "Settings" in README.md`);
  const interrupted = new AbortController();
  // A closed terminal must not leave the service running without anybody who could stop it.
  onSignals(
    () => {
      interrupted.abort();
      show?.end();
      void stopAndExit(service);
    },
    () => {
      service.kill();
      process.exit(EXIT_INTERRUPTED);
    },
  );
  try {
    const up = await service.start(interrupted.signal);
    await welcome(up);
    if (!interrupted.signal.aborted) await show?.begin(up);
  } catch (error) {
    if (interrupted.signal.aborted) return;
    show?.end();
    say('failed', 'start', isDefect(error) ? (error.stack ?? error.message) : messageOf(error));
    await service.stop();
    process.exit(1);
  }
}

async function stopAndExit(service: Service): Promise<void> {
  say('plain', 'stop', 'stopping, Ctrl-C again to kill …');
  try {
    await service.stop();
    say('done', 'stop', 'stopped');
    process.exit(0);
  } catch (error) {
    say('failed', 'stop', messageOf(error));
    service.kill();
    process.exit(1);
  }
}
