/** Whether the reads of a collection are entries of its access log, and how long entries are kept. */
import type { Whole } from './whole.js';

/** `full`: the entries have the requests too. */
export const READ_AUDITS = ['off', 'on', 'full'] as const;
export type ReadAudit = (typeof READ_AUDITS)[number];

/** The settings of a collection's access log. */
export interface AccessSettings {
  readonly audit: ReadAudit;
  /** Days for which entries are kept; 0: forever. */
  readonly retentionDays: Whole;
}

/** Absent fields stay. */
export type AccessChange = Partial<AccessSettings>;

/** The field `audit_reads` of a collection, as it is stored and shown; absent: off. */
export type NamedReadAudit = true | 'full';

export const readAuditOf = (named: NamedReadAudit | false | undefined): ReadAudit =>
  named === 'full' ? 'full' : named === true ? 'on' : 'off';

export const namedReadAudit = (audit: ReadAudit): NamedReadAudit | undefined =>
  audit === 'off' ? undefined : audit === 'on' ? true : 'full';

/** The state that answered a read of a collection whose reads are audited. */
export interface AuditedState {
  readonly audit: Exclude<ReadAudit, 'off'>;
  /** The last event of the state before the read; the answer has it, and perhaps later ones. */
  readonly since: number;
  /** The last event of the state after the read; in general it is `since`. */
  readonly sequence: number;
  /** The hash of the state after `sequence`: 64 lowercase hex. */
  readonly stateHash: string;
}
