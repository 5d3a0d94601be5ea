/**
 * The lock for replacing entries of a vault in a folder. One process at a time has it, for as many keys as it needs. It does one
 * piece of work at a time for each key.
 *
 * ```text
 * free ──first work──▶ locked ──last work ends, or HOLD_MS──▶ free
 * ```
 */
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../clock.js';
import { unavailable, VouchError } from '../errors/errors.js';
import { codeOf } from '../files/durable.js';
import { type FolderLock, type LockHolder, takeLock } from '../files/folderLock.js';
import { KeyedMutex } from '../scheduling/mutex.js';
import { RETRY_MS } from '../scheduling/retry.js';

const WITHIN_MS = 5_000;
/** Under constant load the lock is released after this time, and free long enough for a polling process to notice. */
const HOLD_MS = 200;
const GIVE_WAY_MS = 3 * RETRY_MS.vaultLock;
const LOCKED_TOO_LONG = 'another process holds the vault for too long; retry shortly';

interface Hold {
  readonly taken: Promise<FolderLock>;
  readonly sinceMs: number;
  readonly ended: Promise<void>;
  users: number;
  isEnding: boolean;
  end(): void;
}

/** Error of a lock of another machine's process, which may or may not be running. */
export class LockedElsewhere extends VouchError {
  /** One line for the operator, with the path, which callers do not get. */
  readonly advice: string;

  constructor(path: string, { host, pid }: LockHolder) {
    super('unavailable', LOCKED_TOO_LONG);
    this.advice = `the vault is locked by process ${pid} of host ${host}; if that is gone, delete ${path}`;
  }
}

export class VaultLock {
  readonly #turns = new KeyedMutex<string>();
  #hold: Hold | undefined;

  constructor(
    private readonly path: string,
    private readonly clock: Clock,
  ) {}

  /** Runs `work` for the key under the lock. Throws VouchError `unavailable` if another process keeps the lock too long. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.run(key, () => this.#withLock(work));
  }

  async #withLock<T>(work: () => Promise<T>): Promise<T> {
    const hold = await this.#join();
    try {
      await hold.taken;
      return await work();
    } finally {
      if (--hold.users === 0) await this.#release(hold);
    }
  }

  async #join(): Promise<Hold> {
    for (let hold = this.#hold; hold !== undefined; hold = this.#hold) {
      const isOld = this.clock.monotonicMs() - hold.sinceMs > HOLD_MS;
      if (!isOld && !hold.isEnding) break;
      await hold.ended;
      if (isOld) await delay(GIVE_WAY_MS);
    }
    this.#hold ??= this.#begin();
    this.#hold.users++;
    return this.#hold;
  }

  #begin(): Hold {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    return { taken: this.#take(), sinceMs: this.clock.monotonicMs(), ended, users: 0, isEnding: false, end };
  }

  async #release(hold: Hold): Promise<void> {
    hold.isEnding = true;
    try {
      await (await hold.taken.catch(() => undefined))?.release();
    } finally {
      this.#hold = undefined;
      hold.end();
    }
  }

  async #take(): Promise<FolderLock> {
    const giveUpMs = this.clock.monotonicMs() + WITHIN_MS;
    for (;;) {
      const taken = await takeLock(this.path).catch((error: unknown) => {
        // The lock is so contended that it could not be read.
        if (codeOf(error) === undefined) return undefined;
        throw error;
      });
      if (taken !== undefined && 'release' in taken) return taken;
      if (this.clock.monotonicMs() >= giveUpMs)
        throw taken === undefined || taken.host === hostname()
          ? unavailable(LOCKED_TOO_LONG)
          : new LockedElsewhere(this.path, taken);
      await delay(RETRY_MS.vaultLock);
    }
  }
}
