/**
 * The bound on what a coordinator works on at once: requests, and the bytes of their bodies and of answers that their
 * clients are slow to take. A project has at most three
 * times what is free: alone it may take three quarters of all, and what others come for is there when they come.
 *
 * After A. K. Choudhury, E. L. Hahne: Dynamic Queue Length Thresholds (IEEE/ACM Transactions on Networking, 1998).
 */
import type { RefusalReason } from '../../shared/overloaded.js';

const TIMES_FREE = 3;

/** What one project has under way. */
export interface Share {
  readonly project: string;
  requests: number;
  bodyBytes: number;
}

export class InFlight {
  /** One for each project that was ever seen: those have keys, so there are not many. */
  readonly #shares = new Map<string, Share>();
  /** Of requests that need no key. */
  readonly nobody: Share = { project: '', requests: 0, bodyBytes: 0 };
  #requests = 0;
  #bodyBytes = 0;

  constructor(
    private readonly requestsMax: number,
    private readonly bodyBytesMax: number,
  ) {}

  get requests(): number {
    return this.#requests;
  }

  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /** Why a request of the project would not be let in; undefined: it would. */
  refusal(project: string): RefusalReason | undefined {
    return this.#refusal(this.#shareOf(project));
  }

  /** Where the coordinator is full, the reason: throwing it would cost more than the rest. A share needs one `leave`. */
  enter(project: string): Share | RefusalReason {
    const share = this.#shareOf(project);
    const reason = this.#refusal(share);
    if (reason !== undefined) return reason;
    share.requests += 1;
    this.#requests += 1;
    return share;
  }

  leave(share: Share): void {
    share.requests -= 1;
    this.#requests -= 1;
  }

  /** False where no room is left; else it must be given back with `release`. */
  reserve(share: Share, sizeBytes: number): boolean {
    const freeAfter = this.bodyBytesMax - this.#bodyBytes - sizeBytes;
    if (freeAfter < 0 || share.bodyBytes > TIMES_FREE * freeAfter) return false;
    share.bodyBytes += sizeBytes;
    this.#bodyBytes += sizeBytes;
    return true;
  }

  release(share: Share, sizeBytes: number): void {
    share.bodyBytes -= sizeBytes;
    this.#bodyBytes -= sizeBytes;
  }

  #refusal(share: Share): RefusalReason | undefined {
    const free = this.requestsMax - this.#requests;
    if (free <= 0) return 'requests';
    return share.requests >= TIMES_FREE * free ? 'project_requests' : undefined;
  }

  #shareOf(project: string): Share {
    let share = this.#shares.get(project);
    if (share === undefined) {
      share = { project, requests: 0, bodyBytes: 0 };
      this.#shares.set(project, share);
    }
    return share;
  }
}
