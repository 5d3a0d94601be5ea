/** One nats-server as a process of the tests, set up as `npm start` sets it up. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { planServer, type ServerOptions, type ServerPlan } from '../../../scripts/local/natsServer/serverPlan.js';
import { guarded } from '../../../scripts/local/supervisor/guarded.js';
import { systemClock } from '../../../shared/clock.js';
import { askServerInfo } from '../../../shared/nats/serverInfo.js';
import { PATIENCE_MS } from '../patience.js';

const STOP_WITHIN_MS = 10_000;
const POLL_MS = 25;
const ANSWER_MS = 1_000;
const START_TEXT = 'Starting nats-server';

export class NatsServer {
  readonly url: string;
  /** Reason of its end; pending while it runs. */
  readonly ended: Promise<string>;
  #running = true;

  private constructor(
    readonly plan: ServerPlan,
    private readonly child: ChildProcess,
  ) {
    this.url = plan.url;
    this.ended = new Promise((resolve) => {
      const settle = (how: string): void => {
        this.#running = false;
        resolve(how);
      };
      child.once('error', (error) => settle(error.message));
      child.once('exit', (code, signal) => settle(signal ? `was ended by ${signal}` : `ended with code ${code}`));
    });
  }

  /** Resolves when it serves clients and JetStream has recovered. Throws an Error with the reason in one line. */
  static async start(options: ServerOptions): Promise<NatsServer> {
    const plan = await planServer(options);
    // A session of its own: Ctrl-C in the terminal reaches only the tests, which then stop it.
    const child = guarded(spawn(plan.program, [...plan.args], { stdio: 'ignore', detached: true }), 'last');
    const server = new NatsServer(plan, child);
    try {
      await server.#untilReady();
      return server;
    } catch (error) {
      await server.kill();
      throw error;
    }
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  get isRunning(): boolean {
    return this.#running;
  }

  /** Asks it to stop, and kills it after `withinMs`. */
  async stop(withinMs = STOP_WITHIN_MS): Promise<void> {
    if (!this.#running) return;
    this.child.kill('SIGTERM');
    const given = new AbortController();
    const late = delay(withinMs, 'late', { signal: given.signal }).catch(() => 'ended');
    if ((await Promise.race([this.ended, late])) === 'late') await this.kill();
    given.abort();
  }

  /** kill -9: it writes nothing more. */
  async kill(): Promise<void> {
    if (this.#running) this.child.kill('SIGKILL');
    await this.ended;
  }

  async #untilReady(): Promise<void> {
    const { host, port, name } = this.plan;
    const giveUpMs = systemClock.monotonicMs() + PATIENCE_MS;
    for (;;) {
      if (!this.#running) throw new Error(`nats-server ${await this.ended}: ${await this.#lastError()}`);
      const info = await askServerInfo(host, port, ANSWER_MS);
      if (info && info.server_name !== name) throw new Error(`another NATS server answers at ${this.url}`);
      if (info?.jetstream) return;
      if (systemClock.monotonicMs() >= giveUpMs)
        throw new Error(`nats-server did not get ready within ${PATIENCE_MS / 1000} s: ${await this.#lastError()}`);
      await delay(POLL_MS);
    }
  }

  /** Last complaint in the log of this run. */
  async #lastError(): Promise<string> {
    const log = this.plan.logFile === undefined ? '' : await readFile(this.plan.logFile, 'utf8').catch(() => '');
    const complaints = log
      .slice(Math.max(log.lastIndexOf(START_TEXT), 0))
      .split('\n')
      .map((line) => /\[(?:FTL|ERR)\]\s+(.*)$/.exec(line)?.[1]);
    return complaints.findLast((text) => text !== undefined) ?? 'its log gives no reason';
  }
}
