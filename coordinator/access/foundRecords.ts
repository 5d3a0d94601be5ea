/** The records in the result of a read, for the entry of an access log. */
import { unreachable } from '../../shared/errors/errors.js';
import type { AuditedState } from '../../shared/model/readAudit.js';
import type { Call, Results, SearchResult } from '../../shared/protocol/calls.js';

/** The records of an answer; undefined for an answer that has none. */
export interface FoundRecords {
  readonly ids: readonly number[];
  /** Empty for reads that measure nothing. */
  readonly scores: readonly number[];
}

export function foundRecords(call: Call, result: unknown): FoundRecords | undefined {
  switch (call.op) {
    case 'search':
      return foundBySearch(result as SearchResult);
    case 'searchBatch': {
      const answers = (result as Results['searchBatch']).answers.map(foundBySearch);
      return { ids: answers.flatMap(({ ids }) => ids), scores: answers.flatMap(({ scores }) => scores) };
    }
    case 'listRecords':
    case 'getRecords':
      return { ids: numbersOf((result as Results['listRecords']).ids), scores: [] };
    case 'get':
    case 'vectorOf':
    case 'getEncrypted':
      return { ids: [(result as Results['get']).id], scores: [] };
    case 'countRecords':
    case 'facets':
    case 'graphNode':
    case 'graphNodes':
    case 'graphEdges':
    case 'graphSubgraph':
    case 'graphQuery':
    case 'readLog':
    case 'proofState':
    case 'proofReceipt':
    case 'proofInclusion':
    case 'proofConsistency':
    case 'checkpoint':
    case 'timeline':
    case 'keysOf':
    case 'erasures':
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
    case 'insert':
    case 'insertBatch':
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
      return undefined;
    default:
      return unreachable(call);
  }
}

/** The state of the answer: for a search of the past not the one that was present. */
export function stateOf(call: Call, result: unknown, present: AuditedState): Partial<AuditedState> {
  if (call.op === 'search') {
    const { asOf } = result as SearchResult;
    return asOf === undefined ? present : { sequence: asOf.logIndex, stateHash: asOf.stateHash };
  }
  if (call.op !== 'searchBatch') return present;
  const { sequence } = result as Results['searchBatch'];
  return sequence === present.sequence ? { sequence, stateHash: present.stateHash } : { sequence };
}

function foundBySearch({ ids, scores, textScores }: SearchResult): FoundRecords {
  const measured = scores.length === 0 && textScores !== undefined ? textScores : scores;
  return { ids: numbersOf(ids), scores: numbersOf(measured) };
}

const NUMBER_BYTES = Float64Array.BYTES_PER_ELEMENT;

function numbersOf(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const numbers: number[] = [];
  for (let at = 0; at < bytes.length; at += NUMBER_BYTES) numbers.push(view.getFloat64(at, true));
  return numbers;
}
