/**
 * Compares reads with the access log of their collection. Each answered read is in the log exactly once, with the hashes of its
 * request and answer. Each entry is of a read that a client has sent, and names a state that the collection had.
 */
import type { AccessEntry } from './accessEntries.js';
import type { AskedRead } from './askedReads.js';

/** The writes that may change nothing, and are answered. */
const WRITES: ReadonlySet<string> = new Set([
  'POST /v1/records/delete',
  'POST /v1/records/metadata',
  'POST /v1/vectors/batch-upsert',
]);

/** Returns whether the collection may have had that state hash after an event. */
export type MayHaveHad = (sequence: number, stateHash: string | undefined, isOfPast: boolean) => boolean;

export class AccessCheck {
  readonly #byRequest = new Map<string, AccessEntry[]>();

  constructor(
    private readonly collection: string,
    entries: readonly AccessEntry[],
    private readonly mayHaveHad: MayHaveHad,
    /** Whether the entry of the read may have been removed. */
    private readonly mayBeRemoved: (read: AskedRead) => boolean = () => false,
  ) {
    for (const entry of entries) {
      const { request_id: requestId } = entry.actor;
      this.#byRequest.set(requestId, [...(this.#byRequest.get(requestId) ?? []), entry]);
    }
  }

  /** Returns what is wrong in the entries of these reads. */
  wrongIn(reads: readonly AskedRead[]): string[] {
    return reads.flatMap((read) => {
      const entries = this.#byRequest.get(read.requestId) ?? [];
      const wrong = [
        ...(entries.length > 1 ? [`has ${entries.length} entries`] : []),
        ...(entries.length === 0 && this.#isAnswered(read) && !this.mayBeRemoved(read) ? ['has no entry'] : []),
        ...entries.flatMap((entry) => this.#wrongEntry(entry, read)),
      ];
      return wrong.map((what) => `${describe(read)} ${what} in the access log of ${this.collection}`);
    });
  }

  /**
   * Returns the answered entries that are of none of these reads. Refused requests for the state of an index have entries too, and so
   * have writes that change nothing.
   */
  unsent(reads: readonly AskedRead[]): string[] {
    const sent = new Set(reads.map(({ requestId }) => requestId));
    const answered = [...this.#byRequest.values()]
      .flat()
      .filter(({ status, kind }) => status < 400 && !WRITES.has(kind));
    const others = answered.filter(({ actor }) => !sent.has(actor.request_id));
    return others.map(
      ({ actor, kind }) =>
        `the access log of ${this.collection} has an entry of ${actor.request_id} (${kind}), which did not read it`,
    );
  }

  /** Whether the client has an answer, or a refusal, that needs an entry. */
  #isAnswered({ answer }: AskedRead): boolean {
    return answer !== undefined && answer.status < 500 && !answer.failed.includes(this.collection);
  }

  #wrongEntry(entry: AccessEntry, { requestHash, isOfPast, answer }: AskedRead): string[] {
    const { sequence, state_hash: stateHash } = entry;
    const wrong: string[] = [];
    if (entry.request_hash !== requestHash) wrong.push('has another request hash');
    if (sequence !== undefined && !this.mayHaveHad(sequence, stateHash, isOfPast))
      wrong.push(`has a state of event ${sequence} that the collection did not have`);
    if (sequence === undefined && entry.status < 400) wrong.push('has no state');
    if (answer === undefined || answer.status >= 500) return wrong;
    if (entry.status !== answer.status) wrong.push(`has status ${entry.status}, and was answered ${answer.status}`);
    if (answer.status >= 400) return wrong;
    if (entry.answer_hash !== answer.hash) wrong.push('has the hash of another answer');
    const { stateHash: shown = stateHash } = answer;
    if (entry.since === undefined && shown !== stateHash) wrong.push('has another state than the answer');
    return wrong;
  }
}

const describe = ({ requestId, line, answer }: AskedRead): string =>
  `${requestId} (${line}: ${answer?.status ?? 'no answer'})`;
