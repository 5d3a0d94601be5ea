/** An attacker in a process of its own. It has the lowest priority, so that the cost of sending is not taken for a cost of the service. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { guarded } from '../../scripts/local/supervisor/guarded.js';
import type { AttackerAnswer, AttackerCall } from './attackerCalls.js';

const PROGRAM = fileURLToPath(new URL('./attackerProcess.js', import.meta.url));
const LOWEST_PRIORITY = '19';

export class Attacker {
  readonly #child: ChildProcess;
  #reject: (error: Error) => void = () => undefined;

  private constructor() {
    const command = ['-n', LOWEST_PRIORITY, process.execPath, PROGRAM];
    this.#child = guarded(spawn('nice', command, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
    this.#child.once('exit', () => this.#reject(new Error('the attacking process has ended')));
  }

  /** `key`: of scope `admin`. */
  static async start(url: string, key: string): Promise<Attacker> {
    const attacker = new Attacker();
    await attacker.#call({ op: 'target', url, key });
    return attacker;
  }

  async prepare(endpoint: string, place: number): Promise<void> {
    await this.#call({ op: 'prepare', endpoint, place });
  }

  /** Repeats the prepared attack during `work`. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    await this.#call({ op: 'begin' });
    const result = await work().finally(() => this.#call({ op: 'end' }));
    return result;
  }

  /** Deletes what the attacks have made. */
  async clean(): Promise<void> {
    await this.#call({ op: 'clean' });
  }

  stop(): void {
    this.#child.kill();
  }

  /** Sends a call, and resolves with its answer. One at a time. */
  #call(call: AttackerCall): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#child.once('message', (answer: AttackerAnswer) => {
        if ('failure' in answer) reject(new Error(answer.failure));
        else resolve(answer.attacked);
      });
      this.#child.send(call, (error) => error && reject(error));
    });
  }
}
