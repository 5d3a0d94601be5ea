/** Load from a process of its own, so that the service does not wait for the load. */
import { fork } from 'node:child_process';
import { guarded } from '../../scripts/local/supervisor/guarded.js';
import type { LoadCounts, LoadPlan, LoadReport } from './load.js';

interface Hooks {
  /** Called with the id of the process before the load begins. */
  readonly onStarted?: (pid: number) => Promise<unknown>;
  /** Called when the warm-up is over. */
  readonly onCounting?: () => void;
}

/** Throws an Error if the process ends early. */
export async function makeForkedLoad(plan: LoadPlan, { onStarted, onCounting }: Hooks = {}): Promise<LoadCounts> {
  const child = guarded(fork(new URL('./loadProcess.js', import.meta.url), { serialization: 'advanced' }));
  const counted = new Promise<LoadCounts>((resolve, reject) => {
    child.on('message', (report: LoadReport) => {
      if (report === 'counting') onCounting?.();
      else resolve(report);
    });
    child.once('exit', () => reject(new Error('a process that makes load has ended')));
  });
  if (child.pid !== undefined) await onStarted?.(child.pid);
  child.send(plan);
  return counted;
}
