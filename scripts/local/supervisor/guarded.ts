/** Child processes that end when this process does, however it ends. */
import type { ChildProcess } from 'node:child_process';
import { Watchdog } from './watchdog.js';

const running = { first: new Set<number>(), last: new Set<number>() };
let watchdog: Watchdog | undefined;

const tell = (): void => watchdog?.guard([...running.first], [...running.last]);

/** Ends a child when this process ends, even by `kill -9`. `order`: children that others need end last. Returns the child. */
export function guarded<C extends ChildProcess>(child: C, order: keyof typeof running = 'first'): C {
  const { pid } = child;
  // The child could not be started.
  if (pid === undefined) return child;
  if (watchdog === undefined) {
    watchdog = new Watchdog();
    watchdog.start();
  }
  running[order].add(pid);
  tell();
  child.once('exit', () => {
    running[order].delete(pid);
    tell();
  });
  return child;
}
