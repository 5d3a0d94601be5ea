/**
 * Divides the quotas of a project among its collections, which may be on different shards. The project has an entry for records
 * and one for bytes, with the part of each collection. The sum of the parts never exceeds the quota, and a collection commits
 * nothing beyond its part. Unused reservations can be returned (`trim`).
 */
import type { Bucket, BucketValue, Entry } from '../bucket/bucket.js';
import { type Amount, limitsOf, type QuotaLimits } from '../model/quotas.js';
import { assertWhole } from '../model/whole.js';

type Ledger = { readonly [collectionId: string]: number };

interface Kind {
  /** The slack beyond the wanted amount, which saves a round trip on most commits. */
  readonly slackMin: number;
  readonly slackMax: number;
  readonly keyOf: (project: string) => string;
}

/** Suffix of the project in the key of its entry for bytes; no project's name has a dot. */
const BYTES = '.bytes';

const KINDS: Readonly<Record<keyof Amount, Kind>> = {
  records: { slackMin: 64, slackMax: 16_384, keyOf: (project) => project },
  bytes: { slackMin: 1 << 20, slackMax: 1 << 28, keyOf: (project) => `${project}${BYTES}` },
};
/** The slack is at most this part of the free capacity: more would starve other collections. */
const SLACK_OF_FREE = 8;

export class Reservations {
  constructor(
    private readonly bucket: Bucket,
    private readonly limits: QuotaLimits,
  ) {}

  limitsOf(project: string): Amount {
    return limitsOf(this.limits, project);
  }

  /** Raises the collection's part to at least `wanted`, or as far as the quota allows. Returns the part. */
  async raise(kind: keyof Amount, project: string, collectionId: number, wanted: number): Promise<number> {
    assertWhole(wanted);
    const { slackMin, slackMax } = KINDS[kind];
    const limit = this.limitsOf(project)[kind];
    return this.#change(kind, project, collectionId, (had, others) => {
      const free = limit - others;
      const slack = Math.min(
        Math.max(Math.floor(wanted / SLACK_OF_FREE), slackMin),
        slackMax,
        Math.floor(Math.max(free - wanted, 0) / SLACK_OF_FREE),
      );
      return Math.max(had, Math.min(wanted + slack, free));
    });
  }

  /** Lowers the collection's parts to the used amounts. */
  async lower(project: string, collectionId: number, used: Amount): Promise<void> {
    for (const kind of ['records', 'bytes'] as const) {
      assertWhole(used[kind]);
      await this.#change(kind, project, collectionId, (had) => Math.min(had, used[kind]));
    }
  }

  remove(project: string, collectionId: number): Promise<void> {
    return this.lower(project, collectionId, { records: 0, bytes: 0 });
  }

  async #change(
    kind: keyof Amount,
    project: string,
    collectionId: number,
    next: (had: number, others: number) => number,
  ): Promise<number> {
    const key = KINDS[kind].keyOf(project);
    for (;;) {
      const entry = await this.bucket.get(key);
      const ledger = ledgerOf(entry);
      const had = ledger[collectionId] ?? 0;
      const part = next(had, sumOf(ledger) - had);
      if (part === had) return part;
      const { [String(collectionId)]: _, ...rest } = ledger;
      const changed: BucketValue = part === 0 ? rest : { ...rest, [collectionId]: part };
      const revision =
        entry === undefined
          ? await this.bucket.create(key, changed)
          : await this.bucket.update(key, changed, entry.revision);
      if (revision !== undefined) return part;
    }
  }
}

const ledgerOf = (entry: Entry | undefined): Ledger => (entry?.value ?? {}) as Ledger;
const sumOf = (ledger: Ledger): number => Object.values(ledger).reduce((sum, part) => sum + part, 0);

/** The bytes reserved by a project, from an entry of BUCKETS.quota; undefined for an entry of records. */
export const reservedBytes = (key: string, entry: Entry | undefined): { project: string; bytes: number } | undefined =>
  key.endsWith(BYTES) ? { project: key.slice(0, -BYTES.length), bytes: sumOf(ledgerOf(entry)) } : undefined;
