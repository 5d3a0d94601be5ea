/** The audit of a collection's reads: the state that answers each of them, and at the owner the access log. */
import { unreachable } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import type { AuditedState, ReadAudit } from '../../shared/model/readAudit.js';
import type { AccessCall, AccessResults, CollectionAccessHead } from '../../shared/protocol/access.js';
import type { Call } from '../../shared/protocol/calls.js';
import { Slice } from '../../shared/scheduling/slice.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { moved } from '../../shared/transport/transportErrors.js';
import type { Journal } from '../state/journal.js';
import { AccessLog, type AccessLogServices } from './accessLog.js';

interface ReadCollection {
  readonly state: { readonly readAudit: ReadAudit; readonly accessRetentionDays: number };
  readonly journal: Pick<Journal, 'sequence' | 'isWhole' | 'stateHash' | 'history'>;
}

export class CollectionAccess {
  #log: AccessLog | undefined;
  /** The last state hash of an audited read. */
  #hashed: Pick<AuditedState, 'sequence' | 'stateHash'> | undefined;

  constructor(
    private readonly collectionId: number,
    private readonly collection: ReadCollection,
    private readonly services: AccessLogServices,
  ) {}

  /**
   * Does the work of the call. Reports the state that answers it, also with an error, if it is a read and reads are audited. A write
   * without an event counts as a read: its answer shows which records match.
   */
  async reporting(call: Call, { onAudited, deadlineMs }: Envelope, work: () => Promise<unknown>): Promise<unknown> {
    if (onAudited === undefined) return work();
    const shows = showsContentIn(call);
    if (shows === 'none') return work();
    const { state, journal } = this.collection;
    const before = state.readAudit;
    const since = journal.sequence;
    let isEvent = false;
    try {
      const result = await work();
      isEvent = shows === 'withoutEvent' && madeEvent(result as MadeChange | null);
      return result;
    } finally {
      // The answer may be of the state before or after a change of the audit.
      const audit = state.readAudit === 'off' ? before : state.readAudit;
      if (audit !== 'off' && !isEvent) {
        const hashed = this.#hashNow() ?? (await this.#hash(deadlineMs));
        onAudited({ audit, since, ...hashed });
      }
    }
  }

  beginOwnership(): void {
    this.#log = new AccessLog(this.collectionId, this.services);
  }

  async endOwnership(): Promise<void> {
    const log = this.#log;
    this.#log = undefined;
    await log?.end(moved());
  }

  /** The end of the access log, if it is in memory and has entries. */
  async head(): Promise<CollectionAccessHead | undefined> {
    const head = await this.#log?.headInMemory();
    const { configHash } = this.collection.journal.history;
    return head && { ...head, collectionId: this.collectionId, configHash: toHex(configHash) };
  }

  /** Answers a call about the access log, at the owner; throws on a follower. */
  run(call: AccessCall, envelope: Envelope): Promise<AccessResults[AccessCall['op']]> {
    if (this.#log === undefined) throw moved();
    switch (call.op) {
      case 'logAccess':
        return this.#log.add(call, envelope);
      case 'accessPage':
        return this.#log.page(call, envelope);
      case 'accessFrames':
        return this.#log.frames(call, envelope);
      case 'trimAccess':
        return this.#log.trim(call, this.collection.state.accessRetentionDays, envelope);
      default:
        return unreachable(call);
    }
  }

  async #hash(deadlineMs: number): Promise<Pick<AuditedState, 'sequence' | 'stateHash'>> {
    const resting = new Slice(this.services.clock, deadlineMs);
    for (;;) {
      await resting.next();
      const hashed = this.#hashNow();
      if (hashed !== undefined) return hashed;
    }
  }

  /** Undefined in the middle of a frame. */
  #hashNow(): Pick<AuditedState, 'sequence' | 'stateHash'> | undefined {
    const { journal } = this.collection;
    if (!journal.isWhole) return undefined;
    const { sequence } = journal;
    if (this.#hashed?.sequence !== sequence) this.#hashed = { sequence, stateHash: toHex(journal.stateHash()) };
    return this.#hashed;
  }
}

/** The fields of a write's result that say whether it made an event. */
interface MadeChange {
  /** Null: it found nothing to change. */
  readonly sequence?: number | null;
  /** Whether an earlier request has made its events. */
  readonly deduplicated?: boolean;
}

const madeEvent = (result: MadeChange | null): boolean => result?.sequence !== null && result?.deduplicated !== true;

/**
 * The answers of a call that show content of the collection, or proofs of it. Without an event, these are refusals, and the answer that
 * nothing was changed.
 */
function showsContentIn(call: Call): 'all' | 'withoutEvent' | 'none' {
  switch (call.op) {
    case 'get':
    case 'search':
    case 'searchBatch':
    case 'listRecords':
    case 'getRecords':
    case 'countRecords':
    case 'facets':
    case 'vectorOf':
    case 'graphNode':
    case 'graphNodes':
    case 'graphEdges':
    case 'graphSubgraph':
    case 'graphQuery':
    case 'getEncrypted':
    case 'readLog':
    case 'proofState':
    case 'proofReceipt':
    case 'proofInclusion':
    case 'proofConsistency':
    case 'checkpoint':
    case 'timeline':
    case 'keysOf':
    case 'erasures':
      return 'all';
    case 'delete':
    case 'softDelete':
    case 'updateMetadata':
    case 'patchMetadata':
    case 'deleteMany':
    case 'patchMany':
    case 'addNode':
    case 'deleteNode':
    case 'addEdge':
    case 'deleteEdge':
      return 'withoutEvent';
    case 'insertBatch':
      return call.externalIds === undefined ? 'none' : 'withoutEvent';
    case 'insert':
    case 'insertEncrypted':
    case 'shredKey':
    case 'auditReads':
    case 'describe':
    case 'indexState':
    case 'countUnderKeys':
    case 'erasureProofs':
    case 'configureIndex':
    case 'hold':
    case 'release':
    case 'rebuild':
    case 'importFrames':
    case 'logAccess':
    case 'accessPage':
    case 'accessFrames':
    case 'trimAccess':
      return 'none';
    default:
      return unreachable(call);
  }
}
