import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../../shared/bucket/bucket.js';

/** What a load balancer waits for. A server that is frozen, and not gone, would keep it waiting for ten times as long. */
const ANSWER_WITHIN_MS = 1_000;
const PROBLEM = 'the store of the cluster state does not answer';

/**
 * Whether the store of the cluster state answers. A bucket that cannot be read means no quorum, and then nothing can be
 * committed either. One question at a time, however many ask: `/health` is open to everybody.
 */
export class StoreProbe {
  #underWay: Promise<string | undefined> | undefined;

  constructor(private readonly bucket: () => Promise<Pick<Bucket, 'get'>>) {}

  /** What is wrong, if anything is, within a second. */
  async problem(): Promise<string | undefined> {
    this.#underWay ??= this.#ask().finally(() => {
      this.#underWay = undefined;
    });
    const answered = new AbortController();
    const tooLate = delay(ANSWER_WITHIN_MS, PROBLEM, { signal: answered.signal, ref: false });
    try {
      return await Promise.race([this.#underWay, tooLate]);
    } finally {
      tooLate.catch(() => undefined);
      answered.abort();
    }
  }

  async #ask(): Promise<string | undefined> {
    try {
      await (await this.bucket()).get('health');
      return undefined;
    } catch {
      return PROBLEM;
    }
  }
}
