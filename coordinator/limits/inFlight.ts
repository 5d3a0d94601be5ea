/**
 * Bounds the requests in flight, and the bytes of their bodies and of answers that clients read slowly. A project may have
 * at most three times what is free: a single project may take three quarters, and the rest is there for others.
 *
 * After A. K. Choudhury, E. L. Hahne: Dynamic Queue Length Thresholds (IEEE/ACM Transactions on Networking, 1998).
 */
import type { RefusalReason } from '../../shared/errors/overloaded.js';
import { assertWhole } from '../../shared/model/whole.js';

const TIMES_FREE = 3;

/** The part of one project. */
export interface Share {
  readonly project: string;
  requests: number;
  bodyBytes: number;
}

export class InFlight {
  /** Every project that was ever seen; projects have keys, so there are not many. */
  readonly #shares = new Map<string, Share>();
  /** The share of requests without a key. */
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

  /** The reason why `enter` would refuse the project; undefined: it would not. */
  refusal(project: string): RefusalReason | undefined {
    return this.#refusal(this.#shareOf(project));
  }

  /** Returns the share, which needs one `leave`, or the reason of a refusal: an exception would cost more than the rest. */
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

  /** False if there is no capacity; otherwise the bytes need one `release`. */
  reserve(share: Share, sizeBytes: number): boolean {
    assertWhole(sizeBytes);
    const freeAfter = this.bodyBytesMax - this.#bodyBytes - sizeBytes;
    if (freeAfter < 0 || share.bodyBytes > TIMES_FREE * freeAfter) return false;
    share.bodyBytes += sizeBytes;
    this.#bodyBytes += sizeBytes;
    return true;
  }

  release(share: Share, sizeBytes: number): void {
    assertWhole(sizeBytes);
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
