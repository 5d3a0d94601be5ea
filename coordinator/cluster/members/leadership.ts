/**
 * Lease of one coordinator at a time, for work that must not run twice at once. The lease is an entry that expires unless
 * it is renewed; the coordinator that creates it leads.
 */
import type { Bucket, Entry } from '../../../shared/bucket/bucket.js';
import type { Clock } from '../../../shared/clock.js';

/** How long a lease lasts after its last renewal. All leases of the bucket share it. */
export const LEASE_MS = 2_000;
/** Interval of renewals, several per lease: one lost renewal must not end it. */
export const RENEW_EVERY_MS = 500;

interface Lease {
  readonly name: string;
  /** The process that takes it. */
  readonly holder: string;
  readonly ttlMs: number;
}

export class Leadership {
  #revision: number | undefined;
  #renewedMs = 0;

  constructor(
    private readonly bucket: Bucket,
    private readonly lease: Lease,
    private readonly clock: Clock,
  ) {}

  get holder(): string {
    return this.lease.holder;
  }

  /** Takes or renews the lease; to be called several times per `ttlMs`. True if this process leads. */
  async hold(): Promise<boolean> {
    // Read the clock before the write: the entry expires at least `ttlMs` after this.
    const askedMs = this.clock.monotonicMs();
    const value = { holder: this.holder };
    let entry: Entry | undefined;
    let revision =
      this.#revision === undefined ? undefined : await this.bucket.update(this.lease.name, value, this.#revision);
    if (revision === undefined) {
      // A single read where another process has the lease, the usual case.
      entry = await this.bucket.get(this.lease.name);
      if (entry === undefined) revision = await this.bucket.create(this.lease.name, value);
    }
    this.#revision = revision ?? this.#ownRevision(entry);
    if (revision !== undefined) this.#renewedMs = askedMs;
    return this.leads;
  }

  /** The revision of an earlier renewal whose answer was lost. */
  #ownRevision(entry: Entry | undefined): number | undefined {
    const holder = (entry?.value as { readonly holder?: string } | undefined)?.holder;
    return holder === this.holder ? entry?.revision : undefined;
  }

  /** Whether the lease is certainly still this process's. */
  get leads(): boolean {
    return this.#revision !== undefined && this.clock.monotonicMs() - this.#renewedMs < this.lease.ttlMs;
  }

  async release(): Promise<void> {
    if (!this.leads) return;
    this.#revision = undefined;
    await this.bucket.delete(this.lease.name);
  }
}
