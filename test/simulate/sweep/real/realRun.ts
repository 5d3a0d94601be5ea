/**
 * Runs one operation of a real process, with a fault at one of its calls. Each run has a fresh copy of one data folder.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { LogFolder } from '../../../../verifier/node/index.js';
import { checkHistory } from '../../../soak/checker/check.js';
import { describeViolation } from '../../../soak/checker/violations.js';
import { Draws } from '../../../soak/clients/choices/draws.js';
import { createCollections } from '../../../soak/clients/createCollections.js';
import { exchange } from '../../../soak/clients/httpCall.js';
import { Recorder } from '../../../soak/clients/recorder.js';
import type { Call } from '../../../soak/history.js';
import { seededRandom } from '../../../soak/random.js';
import { type LogOf, readLog, rootSequences } from '../../../soak/readLogs.js';
import { withoutDiskErrors, withSequences } from '../../judge.js';
import { Asker } from '../asker.js';
import type { SweptOperation } from '../operations.js';
import { servedAgain } from '../served.js';
import { COLLECTION, DIMENSION, type Stage } from '../stage.js';
import { RUN_MS } from '../sweepRun.js';
import { RealService, threadsOf } from './realService.js';
import { type Injection, Strace, type TracedCall } from './strace.js';

/** A fault at a call of a thread, which is known by its position among the threads. */
export interface RealPoint extends Injection {
  readonly thread: number;
}

/** A call to the data folder. */
export interface RealStep extends Omit<RealPoint, 'way'> {
  readonly line: string;
}

export interface Operated {
  /** Calls of the process. */
  readonly steps: readonly RealStep[];
  /** Call that met the fault; undefined if it was no call to the data folder. */
  readonly hit: string | undefined;
  readonly failures: readonly string[];
}

const SETTINGS = {
  ...{ VOUCH_MODE: 'standalone', VOUCH_HOST: '127.0.0.1', VOUCH_PORT: '0', VOUCH_LOG_LEVEL: 'warn' },
  ...{ VOUCH_RATE_LIMITS: 'off', VOUCH_SEARCH_THREADS: '0', VOUCH_SNAPSHOT_EVERY_BYTES: '4096' },
};
const VIA = 'standalone';
const STALE_MS = 0;
/** Time for a machine that has other work too. */
const SETTLE_MS = 700;

const quiet = (): Recorder => new Recorder({ write: () => undefined });

export class RealRun {
  readonly #draws: Draws;
  /** Calls of the client in the folder that is copied. */
  #before: readonly Call[] = [];
  #collections: readonly LogOf[] = [];
  #recorder = quiet();

  private constructor(
    private readonly operation: SweptOperation,
    private readonly folder: string,
    private readonly service: RealService,
    seed: number,
  ) {
    this.#draws = new Draws(0, seededRandom(seed));
  }

  static async open(operation: SweptOperation, seed: number): Promise<RealRun> {
    const { segmentBytes } = operation;
    const folder = await mkdtemp(join(tmpdir(), 'vouch-sweep-'));
    const settings = segmentBytes === undefined ? SETTINGS : { ...SETTINGS, SEGMENT_BYTES: String(segmentBytes) };
    const run = new RealRun(operation, folder, new RealService(join(folder, 'data'), settings), seed);
    try {
      await run.#prepare();
      return run;
    } catch (error) {
      await run.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.service.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Creates the folder that is copied. */
  async #prepare(): Promise<void> {
    const { service } = this;
    await service.start();
    const { url: address, key } = service.served;
    const shapes = [{ name: COLLECTION, dimension: DIMENSION, index: 'none', rows: 0 }] as const;
    const options = { address, via: VIA, key, draws: this.#draws, recorder: this.#recorder, exchange };
    this.#collections = await createCollections(shapes, options);
    await servedAgain(this.#stage(0));
    await service.kill();
    await cp(service.dataDir, this.#origin, { recursive: true });
    this.#before = this.#recorder.calls;
  }

  get #origin(): string {
    return join(this.folder, 'origin');
  }

  /** Runs the operation. After a fault, another process completes it. */
  async operate(point?: RealPoint): Promise<Operated> {
    const { operation, service } = this;
    await rm(service.dataDir, { recursive: true });
    await cp(this.#origin, service.dataDir, { recursive: true });
    this.#recorder = quiet();
    this.#recorder.calls.push(...this.#before);
    await service.start();
    // Runs once without a fault, so that first loads and reads are done.
    for (const stage of [this.#stage(1), this.#stage(2)]) await operation.prepare?.(stage);
    await operation.run(this.#stage(1));
    await wait(operation.settleMs + SETTLE_MS);
    const stage = this.#stage(2);
    const pid = operation.victim === 'tool' ? await service.prepareTool() : service.pid;
    const threads = await threadsOf(pid);
    const id = point === undefined ? pid : threads[point.thread]!;
    const strace = await Strace.attach(id, join(this.folder, 'strace'), point);
    await Promise.race([operation.run(stage), wait(RUN_MS)]);
    await wait(operation.settleMs + SETTLE_MS);
    const { calls, faulty } = await strace.detach();
    const hit = faulty !== undefined && this.#isOfFolder(faulty) ? faulty.line : undefined;
    const { whyEnded } = service;
    const isCrash = whyEnded !== undefined && hit !== undefined && point?.way !== 'killed before';
    await service.kill();
    const failures = isCrash ? [`the process ended by itself: ${whyEnded}`] : [];
    if (point !== undefined) failures.push(...(await this.#recover(stage)));
    failures.push(...(await this.#judge()));
    return { steps: this.#stepsIn(calls, threads), hit, failures };
  }

  /** Starts another process, which serves the remaining data and completes the interrupted operation. */
  async #recover(stage: Stage): Promise<string[]> {
    const { service, operation } = this;
    try {
      await service.start();
      await servedAgain(stage);
      await operation.complete?.(stage);
      return [];
    } catch (error) {
      return [String(error)];
    } finally {
      await service.kill();
    }
  }

  async #judge(): Promise<string[]> {
    const { service } = this;
    const { calls } = this.#recorder;
    const logs = [];
    for (const { name, id } of this.#collections) {
      const source = await LogFolder.open(service.dataDir, BigInt(id));
      logs.push(await readLog(name, source, rootSequences(calls, name)).finally(() => source.close()));
    }
    const sequenced = withoutDiskErrors(withSequences(calls, logs));
    const { violations } = checkHistory(sequenced, logs, { staleMs: STALE_MS, indexed: new Map() });
    const alarms = service.alarms.splice(0).map((alarm) => `logged as an error: ${alarm}`);
    return [...violations.map(describeViolation), ...alarms];
  }

  #stage(number: number): Stage {
    const { service } = this;
    const asking = { via: VIA, draws: this.#draws, recorder: this.#recorder };
    return {
      number,
      // A restarted process has another address.
      get ask() {
        return new Asker({ ...asking, address: service.served.url, key: service.served.key });
      },
      rotate: () => service.rotate(),
      restart: async () => {
        await service.kill();
        await service.start();
      },
    };
  }

  /** Whether it is a call to the data folder; polls of the registry come at all times. */
  readonly #isOfFolder = ({ line }: TracedCall): boolean =>
    line.includes(this.service.dataDir) && !(line.includes('/registry/') && line.includes('O_RDONLY'));

  #stepsIn(calls: readonly TracedCall[], threads: readonly number[]): RealStep[] {
    const counts = new Map<string, number>();
    return calls.flatMap((call) => {
      const { tid, name, line } = call;
      const thread = threads.indexOf(tid);
      const counted = `${thread} ${name}`;
      const nth = (counts.get(counted) ?? 0) + 1;
      counts.set(counted, nth);
      return thread >= 0 && this.#isOfFolder(call) ? [{ thread, name, nth, line }] : [];
    });
  }
}
