/** The amounts that a project's quotas count: live records, and bytes. */
import type { Limits } from '../../config/config.js';

export interface Amount {
  /** Live records. */
  readonly records: number;
  /** Bytes of the content and of the logs. */
  readonly bytes: number;
}

/** The kinds of data whose bytes are counted besides those of the log. */
export const HELD_KINDS = ['vectors', 'metadata', 'texts', 'payloads'] as const;

/**
 * The bytes of a collection's content, by kind, without its log. A soft-deleted record counts, since searches of the past still
 * find it. Counted as `payloads`: ciphertexts of encrypted records that are neither deleted nor shredded; the log has them.
 */
export type HeldBytes = Readonly<Record<(typeof HELD_KINDS)[number], number>>;

export const NOTHING_HELD: HeldBytes = { vectors: 0, metadata: 0, texts: 0, payloads: 0 };

export const totalHeld = ({ vectors, metadata, texts, payloads }: HeldBytes): number =>
  vectors + metadata + texts + payloads;

/** The settings of the quotas. */
export type QuotaLimits = Pick<Limits, 'maxRecords' | 'maxBytes' | 'maxBytesOfProjects'>;

/** The quotas of one project. */
export const limitsOf = ({ maxRecords, maxBytes, maxBytesOfProjects = {} }: QuotaLimits, project: string): Amount => ({
  records: maxRecords,
  bytes: Object.hasOwn(maxBytesOfProjects, project) ? maxBytesOfProjects[project]! : maxBytes,
});
