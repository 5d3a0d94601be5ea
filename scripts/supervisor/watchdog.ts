/**
 * Ends the children when their parent is gone, however it went: a shell reads the parent's pipe, and when the pipe
 * closes it stops the processes it was last told of. A pipe closes with its process, also on `kill -9`; the children
 * need to know nothing of this, so it holds for nats-server as for our own. The cost is one idle shell.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

// Lines are "<pids to stop first>|<pids to stop after those>". Each group is asked, given two seconds, and then killed:
// nothing that was answered depends on a clean end, and the next start waits for this one's nats-server to be gone.
const SCRIPT = `
while IFS='|' read -r a b; do first=$a last=$b; done
alive() { for pid in $1; do kill -0 "$pid" && return 0; done; return 1; }
finish() {
  tenths=0
  for pid in $1; do kill -TERM "$pid"; done
  while [ "$tenths" -lt 20 ] && alive "$1"; do sleep 0.1; tenths=$((tenths + 1)); done
  for pid in $1; do kill -KILL "$pid"; done
}
exec 2>/dev/null
finish "$first"
finish "$last"
`;

export class Watchdog {
  #shell: ChildProcess | undefined;
  #line = '|\n';

  start(): void {
    // Of its own session, so that Ctrl-C in the terminal does not reach it.
    const shell = spawn('sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    this.#shell = shell;
    shell.unref();
    (shell.stdin as Socket).unref();
    // A shell that was killed leaves a broken pipe behind; another takes its place.
    shell.stdin!.on('error', () => {});
    shell.once('exit', () => {
      if (this.#shell === shell) this.start();
    });
    shell.stdin!.write(this.#line);
  }

  /** The processes to end with the parent: `first` before `last`. Replaces what was told before. */
  guard(first: readonly number[], last: readonly number[]): void {
    this.#line = `${first.join(' ')}|${last.join(' ')}\n`;
    this.#shell?.stdin?.write(this.#line);
  }

  /** Lets go of everything: the shell ends and stops nothing. */
  stop(): void {
    const shell = this.#shell;
    this.#shell = undefined;
    shell?.stdin?.end('|\n');
  }
}
