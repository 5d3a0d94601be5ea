/** Child processes that end with this process, even after `kill -9`. */
import type { ChildProcess } from 'node:child_process';
import { Watchdog } from './watchdog.js';

const running = { first: new Set<number>(), last: new Set<number>() };
let watchdog: Watchdog | undefined;

const update = (): void => watchdog?.guard([...running.first], [...running.last]);

/** Ends a child when this process ends. `order`: children that other children need end last. Returns the child. */
export function guarded<C extends ChildProcess>(child: C, order: keyof typeof running = 'first'): C {
  const { pid } = child;
  // Without a pid the child has not started.
  if (pid === undefined) return child;
  if (watchdog === undefined) {
    watchdog = new Watchdog();
    watchdog.start();
  }
  running[order].add(pid);
  update();
  child.once('exit', () => {
    running[order].delete(pid);
    update();
  });
  return child;
}
