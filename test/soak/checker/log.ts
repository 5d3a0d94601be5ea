/** The log of one collection in the checker's form: verified, and read event by event. */
import { toHex } from '../../../verifier/bytes.js';
import { ABSENT, stateHash } from '../../../verifier/hashing.js';
import type { Metadata } from '../history/records.js';

export interface InsertEvent {
  readonly type: 'insert';
  readonly recordId: number;
  readonly requestId: string | null;
  readonly vector: readonly number[];
  readonly metadata: Metadata;
  readonly text: string | null;
}

export interface InsertSecretEvent {
  readonly type: 'insertEncrypted';
  readonly recordId: number;
  readonly requestId: string | null;
  readonly keyId: string;
  /** Tag of the record. */
  readonly mark: number;
}

export type GraphEvent =
  | { readonly type: 'addNode'; readonly nodeId: number; readonly recordId: number | null; readonly kind: number }
  | { readonly type: 'deleteNode'; readonly nodeId: number }
  | {
      readonly type: 'addEdge';
      readonly edgeId: number;
      readonly from: number;
      readonly to: number;
      readonly kind: number;
    }
  | { readonly type: 'deleteEdge'; readonly edgeId: number };

export type LoggedEvent =
  | InsertEvent
  | InsertSecretEvent
  | GraphEvent
  /** `expire`: a deletion by the service. */
  | { readonly type: 'softDelete' | 'delete' | 'expire'; readonly recordId: number }
  | { readonly type: 'updateMetadata'; readonly recordId: number; readonly metadata: Metadata }
  | { readonly type: 'shredKey'; readonly keyId: string }
  | { readonly type: 'auditReads' };

/** An event and the hashes that bind it to all earlier events. */
export interface Entry {
  readonly event: LoggedEvent;
  readonly chainHead: Uint8Array;
  /** Root of the graph after the event. */
  readonly graphRoot: Uint8Array;
  readonly timeMs: bigint;
}

export interface CollectionLog {
  readonly collection: string;
  /** Reason why the log does not verify; undefined if it does. */
  readonly refusal: string | undefined;
  /** Whether it stores vectors divided by their length. */
  readonly isNormalised: boolean;
  readonly configHash: Uint8Array;
  readonly genesis: { readonly chainHead: Uint8Array; readonly timeMs: bigint };
  /** Entry `i` has sequence `i + 1`. */
  readonly entries: readonly Entry[];
  /** State roots of some sequences, from a replay. */
  readonly stateRoots: ReadonlyMap<number, string>;
  readonly sizeBytes: number;
}

/** Whether it has a genesis event, which comes with the first write. */
export const hasBegun = ({ configHash }: CollectionLog): boolean => configHash !== ABSENT;

export const entryAt = (log: CollectionLog, sequence: number): Entry | undefined => log.entries[sequence - 1];

/** The `state_hash` of the log at `sequence` if its state tree has this root; undefined without such an event. */
export function stateHashAt(log: CollectionLog, sequence: number, stateRoot: string): string | undefined {
  const at = sequence === 0 ? { ...log.genesis, graphRoot: ABSENT } : entryAt(log, sequence);
  if (at === undefined) return undefined;
  const facts = {
    configHash: log.configHash,
    stateRoot: Buffer.from(stateRoot, 'hex'),
    graphRoot: at.graphRoot,
    chainHead: at.chainHead,
    sequence: BigInt(sequence),
    timeMs: at.timeMs,
  };
  return toHex(stateHash(facts));
}

export const describeEvent = (event: LoggedEvent): string => JSON.stringify(event);
