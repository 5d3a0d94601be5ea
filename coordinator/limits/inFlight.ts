/**
 * Bounds the requests in flight, and the bytes of their bodies and of answers that a client reads slowly. A project may have
 * at most three times the free capacity. So a project that is alone gets at most three quarters; the rest stays for others.
 *
 * After A. K. Choudhury, E. L. Hahne: Dynamic Queue Length Thresholds (IEEE/ACM Transactions on Networking, 1998).
 */
import type { RefusalReason } from '../../shared/errors/overloaded.js';
import { assertWhole } from '../../shared/model/whole.js';

const TIMES_FREE = 3;

/** The capacity that one project uses. */
export interface Share {
  readonly project: string;
  requests: number;
  bodyBytes: number;
}

export class InFlight {
  /** Every project ever seen. Only projects with keys appear, so the map is small. */
  readonly #shares = new Map<string, Share>();
  /** The share of requests without a key. */
  readonly anonymous: Share = { project: '', requests: 0, bodyBytes: 0 };
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

  /** Why `enter` would refuse the project; undefined if it would not. */
  refusal(project: string): RefusalReason | undefined {
    return this.#refusal(this.#shareOf(project));
  }

  /** Returns the share, which needs one `leave`, or the reason of a refusal: an exception would be costly. */
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

  /** False without capacity; otherwise the bytes need one `release`. */
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
