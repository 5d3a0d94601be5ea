/**
 * Measures the turns of the event loop in every thread of a service started with `--import` of this file. A turn's
 * length is CPU time of its thread, without garbage collection. Its ratio to reference work in the same thread does not
 * depend on the machine or its load. `stallWatch.ts` reads the reports.
 */
import { appendFileSync, existsSync, openSync, readlinkSync, readSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { basename, join } from 'node:path';
import { PerformanceObserver } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import { systemClock } from '../../../shared/clock.js';
import { CONTROL_FILE, PROBE_FOLDER, PROFILED, type ThreadReport } from './report.js';

/** Interval between two samples of the CPU time. Short turns within it count as one. */
const TICK_MS = 5;
/** Shorter turns are not recorded. */
const NOTED_MS = 10;
const NOTED_MAX = 200;
/** Ticks until this thread has learned of the garbage collector's pauses. */
const TICKS_TO_CLOSE = 3;
/** Age at which the reference is measured again. */
const REFERENCE_MS = 20_000;
const TOP_FRAMES = 12;

interface Turn {
  readonly fromMs: number;
  readonly toMs: number;
  readonly cpuMs: number;
}

interface Pause {
  readonly startTime: number;
  readonly duration: number;
}

/** `shard` of `shard/main.js`, `bodyWorker` of `coordinator/body/bodyWorker.js`. */
const [program = '', folder = ''] = (process.argv[1] ?? '').split('/').reverse();
const THREAD = program === 'main.js' ? folder : program.replace(/\.js$/, '');

const WORDS = new Uint32Array(4_096);

/** Takes 50 ms of an idle processor of 2.8 GHz. */
function referenceWork(): number {
  let mixed = 1;
  for (let round = 0; round < 10_000; round++)
    for (let i = 0; i < WORDS.length; i++) {
      mixed = Math.imul(mixed ^ WORDS[i]!, 0x9e37_79b1) ^ (mixed >>> 15);
      WORDS[i] = mixed;
    }
  return mixed;
}

class Probe {
  readonly #thread = readlinkSync('/proc/thread-self');
  readonly #schedstat = openSync(`/proc/${this.#thread}/schedstat`, 'r');
  readonly #control: number;
  readonly #report: string;
  readonly #text = Buffer.alloc(64);
  readonly #session = PROFILED ? new Session() : undefined;
  #turns: Turn[] = [];
  #pauses: Pause[] = [];
  #lastCpuMs = 0;
  #lastMs = 0;
  #epoch: number;
  #closing: { readonly epoch: number; ticks: number } | undefined;
  #referenceMs = 0;
  #referencedAtMs = 0;

  constructor(folder: string) {
    const [pid, , tid] = this.#thread.split('/');
    this.#control = openSync(join(folder, CONTROL_FILE), 'r');
    this.#report = join(folder, `${pid}-${tid}`);
    new PerformanceObserver((list) => this.#pauses.push(...list.getEntries())).observe({ entryTypes: ['gc'] });
    // The first run compiles it.
    referenceWork();
    this.#epoch = this.#readNumber(this.#control);
    this.#begin();
    this.#write({ started: this.#epoch });
    setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** First number in the file. */
  #readNumber(file: number): number {
    const length = readSync(file, this.#text, 0, this.#text.length, 0);
    return Number.parseInt(this.#text.toString('latin1', 0, length), 10);
  }

  #cpuMs(): number {
    return this.#readNumber(this.#schedstat) / 1e6;
  }

  #begin(): void {
    const nowMs = systemClock.monotonicMs();
    if (this.#referencedAtMs === 0 || nowMs - this.#referencedAtMs > REFERENCE_MS) {
      const fromMs = this.#cpuMs();
      referenceWork();
      this.#referenceMs = this.#cpuMs() - fromMs;
      this.#referencedAtMs = nowMs;
    }
    this.#turns = [];
    this.#pauses = [];
    this.#post('Profiler.start');
    this.#look();
  }

  #look(): void {
    this.#lastCpuMs = this.#cpuMs();
    this.#lastMs = systemClock.monotonicMs();
  }

  #tick(): void {
    const [fromMs, fromCpuMs] = [this.#lastMs, this.#lastCpuMs];
    this.#look();
    const cpuMs = this.#lastCpuMs - fromCpuMs;
    if (cpuMs >= NOTED_MS && this.#turns.length < NOTED_MAX) this.#turns.push({ fromMs, toMs: this.#lastMs, cpuMs });
    const epoch = this.#readNumber(this.#control);
    if (this.#closing === undefined && epoch !== this.#epoch) this.#closing = { epoch, ticks: 0 };
    if (this.#closing === undefined || ++this.#closing.ticks < TICKS_TO_CLOSE) return;
    this.#end();
    this.#epoch = this.#closing.epoch;
    this.#closing = undefined;
    this.#begin();
    this.#write({ started: this.#epoch });
  }

  #end(): void {
    const measured = this.#turns
      .map(({ fromMs, toMs, cpuMs }) => {
        const pausesMs = this.#pauses
          .filter(({ startTime, duration }) => startTime < toMs && startTime + duration > fromMs)
          .reduce((sum, { duration }) => sum + duration, 0);
        return { turnMs: Math.max(0, cpuMs - pausesMs), pausesMs };
      })
      .sort((a, b) => b.turnMs - a.turnMs);
    this.#write({
      finished: this.#epoch,
      referenceMs: this.#referenceMs,
      turnMs: measured[0]?.turnMs ?? 0,
      pausesMs: Math.max(0, ...measured.map(({ pausesMs }) => pausesMs)),
      frames: this.#frames(),
    });
  }

  #write(report: Partial<ThreadReport>): void {
    appendFileSync(this.#report, `${JSON.stringify({ thread: THREAD, isWorker: !isMainThread, ...report })}\n`);
  }

  #post(method: 'Profiler.start' | 'Profiler.stop'): Profiler.Profile | undefined {
    if (this.#session === undefined) return undefined;
    if (this.#referencedAtMs !== 0 && method === 'Profiler.start') {
      this.#session.connect();
      this.#session.post('Profiler.enable');
    }
    let profile: Profiler.Profile | undefined;
    this.#session.post(method as 'Profiler.stop', (_, answer) => {
      profile = answer?.profile;
    });
    return profile;
  }

  /** Frames with the most samples during the epoch. */
  #frames(): string[] {
    const profile = this.#post('Profiler.stop');
    this.#session?.disconnect();
    if (profile === undefined) return [];
    const samples = new Map<string, number>();
    for (const { callFrame, hitCount = 0 } of profile.nodes) {
      const frame = `${callFrame.functionName || '(anonymous)'} ${basename(callFrame.url)}:${callFrame.lineNumber + 1}`;
      samples.set(frame, (samples.get(frame) ?? 0) + hitCount);
    }
    const all = [...samples.values()].reduce((sum, count) => sum + count, 0);
    return [...samples]
      .filter(([frame]) => !frame.startsWith('(idle)') && !frame.startsWith('(program)'))
      .sort(([, a], [, b]) => b - a)
      .slice(0, TOP_FRAMES)
      .map(([frame, count]) => `${((100 * count) / all).toFixed(1)}% ${frame}`);
  }
}

if (PROBE_FOLDER !== undefined && existsSync(PROBE_FOLDER)) new Probe(PROBE_FOLDER);
