/**
 * One coordinator at a time does what must not be done twice at once. The lease is an entry that vanishes unless it is
 * renewed; whoever creates it leads.
 */
import type { Bucket } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';

/** How long a lease outlives its last renewal. All leases of the bucket share it. */
export const LEASE_MS = 2_000;
/** A few times per lease: one renewal that is lost must not end it. */
export const RENEW_EVERY_MS = 500;

export class Leadership {
  #revision: number | undefined;
  #renewedMs = 0;

  constructor(
    private readonly bucket: Bucket,
    private readonly name: string,
    private readonly holder: string,
    private readonly ttlMs: number,
    private readonly clock: Clock,
  ) {}

  /** Takes or renews the lease; call it a few times per `ttlMs`. True while this process leads. */
  async hold(): Promise<boolean> {
    // Counted from before the write: the entry lives at least `ttlMs` longer than this.
    const askedMs = this.clock.monotonicMs();
    const value = { holder: this.holder };
    const revision =
      this.#revision === undefined
        ? await this.bucket.create(this.name, value)
        : await this.bucket.update(this.name, value, this.#revision);
    this.#revision = revision ?? (await this.#ownRevision());
    if (revision !== undefined) this.#renewedMs = askedMs;
    return this.held;
  }

  /** Of an earlier renewal that went through although its answer was lost. */
  async #ownRevision(): Promise<number | undefined> {
    const entry = await this.bucket.get(this.name);
    const holder = (entry?.value as { readonly holder?: string } | undefined)?.holder;
    return holder === this.holder ? entry?.revision : undefined;
  }

  /** True where the lease cannot have passed to another meanwhile. */
  get held(): boolean {
    return this.#revision !== undefined && this.clock.monotonicMs() - this.#renewedMs < this.ttlMs;
  }

  async release(): Promise<void> {
    if (!this.held) return;
    this.#revision = undefined;
    await this.bucket.delete(this.name);
  }
}
