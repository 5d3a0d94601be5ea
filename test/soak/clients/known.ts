/** Facts that the clients know about one collection. */

import { answerOf } from '../history/asked.js';
import type { ListCall } from '../history/lists.js';
import type { Row } from '../history/records.js';
import type { Secret } from '../history/secrets.js';
import { type Call, isWrite } from '../history.js';
import type { SeededRandom } from '../random.js';
import type { CollectionShape } from '../shapes.js';
import type { Wanted } from './calls/call.js';
import { KnownIds } from './knownIds.js';

const REPEATABLE_KEPT = 64;

export class Known {
  /** Records with a vector. */
  readonly records = new KnownIds<number>();
  readonly secrets = new KnownIds<number>();
  readonly nodes = new KnownIds<number>();
  readonly edges = new KnownIds<number>();
  /** Answered rows, which may be sent again. */
  readonly rows: Row[] = [];
  readonly sentSecrets: Secret[] = [];
  /** The next page of the last answered list; undefined: that was its last page. */
  nextPage: Wanted<ListCall> | undefined;
  /** Latest sequence in an answer. */
  sequence = 0;

  /** `keys`: of all collections. */
  constructor(
    readonly shape: CollectionShape,
    private readonly keys: KnownIds<string>,
  ) {}

  learn(call: Call): void {
    const { outcome } = call;
    if (outcome.kind === 'absent' && 'id' in call) this.#gone(call.op, call.id);
    if (outcome.kind !== 'ok') return;
    this.#learnWhatIsThere(call);
    if (isWrite(call) && 'sequence' in outcome.answer) this.#reached(outcome.answer.sequence);
  }

  /** Id of a record with a vector, or one that no answer has named. */
  anyRecord(random: SeededRandom): number {
    return this.records.pick(random, () => 1 + random.int(this.records.size + this.secrets.size + 10));
  }

  #learnWhatIsThere(call: Call): void {
    if (call.outcome.kind !== 'ok') return;
    switch (call.op) {
      case 'insert': {
        const { id, deduplicated, receipt } = call.outcome.answer;
        this.#reached(receipt.sequence);
        if (!deduplicated) this.#inserted([id], [call.row]);
        return;
      }
      case 'insertBatch':
        this.#inserted(call.outcome.answer.ids, call.rows);
        return;
      case 'insertEncrypted': {
        const { id, keyId } = call.outcome.answer;
        this.secrets.made([id]);
        this.keys.made([keyId]);
        if (call.secret.requestId !== null) keep(this.sentSecrets, call.secret);
        return;
      }
      case 'list':
        this.nextPage = pageAfter(call);
        return;
      case 'addNode':
        this.nodes.made([call.outcome.answer.nodeId]);
        return;
      case 'addEdge':
        this.edges.made([call.outcome.answer.edgeId]);
        return;
      case 'softDelete':
      case 'delete':
      case 'deleteNode':
      case 'deleteEdge':
        this.#gone(call.op, call.id);
    }
  }

  #inserted(ids: readonly number[], rows: readonly Row[]): void {
    this.records.made(ids);
    for (const row of rows) if (row.requestId !== null) keep(this.rows, row);
  }

  #gone(op: Call['op'], id: number): void {
    switch (op) {
      case 'deleteNode':
      case 'getNode':
      case 'edges':
        this.nodes.gone(id);
        return;
      case 'deleteEdge':
        this.edges.gone(id);
        return;
      case 'getEncrypted':
        this.secrets.gone(id);
        return;
      default:
        this.records.gone(id);
        this.secrets.gone(id);
    }
  }

  #reached(sequence: number | undefined): void {
    this.sequence = Math.max(this.sequence, sequence ?? 0);
  }
}

/** A page with fewer records than its limit does not show the record before the next page. */
function pageAfter(call: ListCall): Wanted<ListCall> | undefined {
  const { collection, orderBy, isDescending, limit, color } = call;
  const { records, next } = answerOf(call);
  const last = records.at(-1);
  if (next === null || last === undefined || records.length < limit) return undefined;
  return { op: 'list', collection, orderBy, isDescending, limit, color, after: { next, last } };
}

function keep<T>(kept: T[], item: T): void {
  kept.push(item);
  if (kept.length > REPEATABLE_KEPT) kept.shift();
}
