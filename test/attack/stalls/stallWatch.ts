/** Measures how long requests block the event loops of a service's threads. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../support/expectations.js';
import type { Settings } from '../../support/launch/service.js';
import { CONTROL_FILE, PROBE_FOLDER_SETTING, type ThreadReport } from './report.js';

const PROBE = new URL('./probe.js', import.meta.url);
const SCHEDSTAT = '/proc/thread-self/schedstat';

/** Reason why turns cannot be measured here; undefined if they can. */
export function whyNoTurns(): string | undefined {
  const counted = existsSync(SCHEDSTAT) && Number(readFileSync(SCHEDSTAT, 'latin1').split(' ')[0]) > 0;
  return counted ? undefined : `the CPU time of a thread is read from ${SCHEDSTAT}, which this system does not have`;
}

/** The longest turn of one thread. */
export interface LongestTurn extends ThreadReport {
  /** Length of the turn in units of the reference work: 1 is 50 ms. */
  readonly ratio: number;
}

export class StallWatch {
  readonly #folder = mkdtempSync(join(tmpdir(), 'vouch-stalls-'));
  #epoch = 1;

  constructor() {
    this.#setEpoch();
  }

  /** Environment of a measured service. */
  get settings(): Settings {
    const options = process.env.NODE_OPTIONS ?? '';
    return { NODE_OPTIONS: `${options} --import=${PROBE.href}`.trim(), [PROBE_FOLDER_SETTING]: this.#folder };
  }

  /** Longest turn of each thread from now until every event loop has completed a turn after `work`. */
  async during(work: () => Promise<unknown>): Promise<LongestTurn[]> {
    await this.#next();
    await work();
    const epoch = this.#epoch;
    await this.#next();
    return this.#reports()
      .flatMap(({ lines }) => lines.filter(({ finished }) => finished === epoch))
      .map((report) => ({ ...report, ratio: report.turnMs / report.referenceMs }));
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Begins an epoch, and waits until every thread has reported the previous one. */
  async #next(): Promise<void> {
    this.#epoch++;
    this.#setEpoch();
    await eventually(`every thread begins epoch ${this.#epoch}`, async () =>
      this.#reports()
        .filter(({ pid, tid }) => existsSync(`/proc/${pid}/task/${tid}`))
        .every(({ lines }) => lines.some(({ started = 0 }) => started >= this.#epoch)),
    );
  }

  #setEpoch(): void {
    writeFileSync(join(this.#folder, CONTROL_FILE), String(this.#epoch));
  }

  #reports(): { pid: string; tid: string; lines: ThreadReport[] }[] {
    return readdirSync(this.#folder)
      .filter((name) => name !== CONTROL_FILE)
      .map((name) => {
        const [pid = '', tid = ''] = name.split('-');
        const written = readFileSync(join(this.#folder, name), 'utf8');
        // The last line may be incomplete.
        const lines = written
          .slice(0, written.lastIndexOf('\n') + 1)
          .split('\n')
          .slice(0, -1);
        return { pid, tid, lines: lines.map((line) => JSON.parse(line) as ThreadReport) };
      });
  }
}
