/** The messages between the owner's thread and the thread of past states. All can be cloned. */
import type { MessagePort } from 'node:worker_threads';
import { Damaged, noticingDamage } from '../../shared/log/damaged.js';
import type { Position } from '../../shared/log/eventLog.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { outcomesOf, type ThreadOutcome } from '../../shared/process/workerThread.js';
import type { FoundFields } from '../search/found.js';
import type { SearchOptions } from '../search/search.js';
import type { LogPlace } from '../snapshot/checkLog.js';
import type { SavedSnapshot, SetAside, SnapshotPlace } from '../snapshot/savedSnapshots.js';
import type { Measured } from './measured.js';

/** `opening`: the number of an `Opening`. */
export type ToWorker =
  | { op: 'open'; opening: number; config: CollectionConfig; place: SnapshotPlace | undefined }
  | AskSearch
  | (AsOfRequest & { op: 'snapshot'; upTo: number })
  | (AsOfRequest & { op: 'check'; from: LogPlace; upTo: LogPlace })
  /** Answered when no work for the opening continues. */
  | (AsOfRequest & { op: 'close' });

/** `id`: that of the answer. */
interface AsOfRequest {
  readonly id: number;
  readonly opening: number;
}

export interface AskSearch extends AsOfRequest {
  readonly op: 'search';
  readonly sequence: number;
  /** Time until the caller's deadline. */
  readonly remainingMs: number;
  /** Components; undefined for the vector of the record `like`. */
  readonly query: Int32Array | undefined;
  readonly options: AsOfOptions;
}

export interface AsOfOptions extends SearchOptions {
  /** Instant for ages; undefined for the time of the state's last event. */
  readonly agedToMs: number | undefined;
}

/** Arguments of `FrameSource.read`, and the port for the frames. */
export interface LogRequest {
  readonly after: Position;
  readonly upTo: number;
  readonly inFlightBytes: number | undefined;
  readonly port: MessagePort;
}

/** The keys to send, and the port for them. */
export interface KeyRequest {
  readonly keyIds: readonly string[];
  readonly port: MessagePort;
}

export interface AsOfAnswer {
  readonly found: FoundFields;
  /** Time of the state's last event; null before the first. */
  readonly timeMs: number | null;
  /** Hex digits. */
  readonly stateHash: string;
  /** Number of records that lived then, and whose content has been erased since. */
  readonly erased: number;
}

/** Answers, by the `op` of the request. */
export interface AsOfAnswers {
  readonly search: AsOfAnswer;
  readonly snapshot: SavedSnapshot | undefined;
  readonly check: boolean;
}

export type AsOfReply = AsOfAnswers[keyof AsOfAnswers];

export type FromWorker =
  | { op: 'answer'; id: number; outcome: ThreadOutcome<AsOfReply> }
  | ({ op: 'read'; opening: number } & LogRequest)
  | ({ op: 'keys'; opening: number } & KeyRequest)
  /** Reports the progress of a check. `id`: that of its answer. */
  | { op: 'checked'; id: number; reached: LogPlace }
  | { op: 'measured'; measured: Measured }
  | { op: 'setAside'; opening: number; snapshot: SetAside };

const outcomes = outcomesOf({ Damaged });

export const asOfOutcome = <Answer>(work: () => Promise<Answer>): Promise<ThreadOutcome<Answer>> =>
  outcomes.pack(() => noticingDamage(work));

export const unwrapAsOf = outcomes.unpack;
