/**
 * Ends the children when their parent is gone, also after `kill -9`. A shell reads a pipe of the parent. When that closes, the shell
 * stops the processes in the last line it has read. The cost is one idle shell.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

// Lines are "<pids to stop first>|<pids to stop after those>". Each group gets SIGTERM, and SIGKILL after two seconds: no answered
// write depends on a clean end.
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
    // Give the shell its own session, so that Ctrl-C in the terminal does not reach it.
    const shell = spawn('sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    this.#shell = shell;
    shell.unref();
    (shell.stdin as Socket).unref();
    // A killed shell leaves a broken pipe, and is replaced.
    shell.stdin!.on('error', () => {});
    shell.once('exit', () => {
      if (this.#shell === shell) this.start();
    });
    shell.stdin!.write(this.#line);
  }

  /** Sets the processes to end with the parent: `first` before `last`. */
  guard(first: readonly number[], last: readonly number[]): void {
    this.#line = `${first.join(' ')}|${last.join(' ')}\n`;
    this.#shell?.stdin?.write(this.#line);
  }

  /** Ends the shell without stopping any process. */
  stop(): void {
    const shell = this.#shell;
    this.#shell = undefined;
    shell?.stdin?.end('|\n');
  }
}
