/** A fault: its effect, target and duration, and its repair. */

const FAULT_KINDS = [
  'shard killed',
  'shard killed, away for long',
  'shard frozen, shorter than its lease',
  'shard frozen, longer than its lease',
  'shard frozen, its collections given away',
  'shard leaves and comes back',
  'shard cut off from NATS',
  'shard hears nothing from NATS',
  'shard joins and leaves',
  'snapshot damaged',
  'coordinator killed',
  'coordinator frozen',
  'coordinator restarted',
  'coordinator cut off from NATS',
  'NATS server killed',
  'NATS leader killed',
  'NATS server frozen',
  'two NATS servers killed',
  'certificates renewed',
  'several faults at once',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** Description with target and duration. */
  readonly text: string;
  /** Resolves when it is repaired, as far as visible from outside: processes run, connections are open. */
  run(): Promise<void>;
}

/** A past fault. It may show until `settledMs`; from then on, every collection was served again. */
export interface PastFault {
  readonly kind: FaultKind;
  readonly text: string;
  readonly startMs: number;
  readonly healedMs: number;
  readonly settledMs: number;
}
