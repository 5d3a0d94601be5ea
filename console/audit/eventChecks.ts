/** Checks of events in this browser, which do not trust the service. */
import type { InclusionResponse, TimelineEvent } from '../../coordinator/contract/proofs.js';
import type { Receipt } from '../../coordinator/contract/records.js';
import {
  type Checkpoint,
  chainHeadAfter,
  readProof,
  toHex,
  verifyInclusion,
  verifyReceipt,
} from '../../verifier/index.js';
import { counted } from '../parts/values.js';
import { pathOf, type Service } from '../service.js';

export interface Checked {
  readonly receipt: Receipt | undefined;
  /** The verified facts, as sentences. */
  readonly holds: readonly string[];
  readonly problems: readonly string[];
}

/** Whether an event of the type changes a record, and so has a receipt. */
const HAS_RECEIPT: Readonly<Record<TimelineEvent['event_type'], boolean>> = {
  insert: true,
  replace: true,
  insert_encrypted: true,
  insert_under_key: true,
  replace_under_key: true,
  update_under_key: true,
  soft_delete: true,
  delete: true,
  update_metadata: true,
  delete_many: false,
  shred_key: false,
  // A node may belong to a record, which it does not change.
  add_node: false,
  delete_node: false,
  add_edge: false,
  delete_edge: false,
  audit_reads: false,
};

interface Proven {
  /** The chain head after the event, as hex. */
  readonly chainHead: string;
  readonly holds: readonly string[];
  readonly problems: readonly string[];
}

/**
 * Checks events against one signed checkpoint. The receipt of an event contains the chain head after the event before it.
 * From the latest event to the oldest, only the first therefore needs a proof of inclusion.
 */
export class EventChecks {
  /** Chain heads that are proven to be in the signed log, as hex, by the sequence of the event before them. */
  readonly #heads = new Map<number, string>();

  /** `signal` cancels the requests. */
  constructor(
    private readonly service: Service,
    private readonly collection: string,
    private readonly checkpoint: Checkpoint,
    private readonly signal: AbortSignal,
  ) {}

  async check(event: TimelineEvent): Promise<Checked> {
    const sequence = event.log_index;
    const { chainHead: head, ...inLog } = await this.#inclusion(sequence);
    if (inLog.problems.length > 0 || !HAS_RECEIPT[event.event_type]) return { receipt: undefined, ...inLog };
    const { collection } = this;
    const receipt = await this.#get<Receipt>(pathOf('/v1/proof/receipt', { collection, sequence }));
    const problems = [...verifyReceipt(receipt)];
    if (problems.length > 0) return { receipt, holds: inLog.holds, problems };
    const holds = [...inLog.holds, 'The receipt is valid: it leads from the old state root to the new one.'];
    const proof = readProof(receipt.proof);
    if (receipt.sequence !== sequence || receipt.record_id !== event.record_id)
      problems.push('The receipt is about another write.');
    else if (toHex(chainHeadAfter(proof)) !== head) problems.push('The receipt describes another event than the log.');
    else {
      holds.push('The receipt and the log describe the same event.');
      if (this.#heads.has(sequence)) this.#heads.set(sequence - 1, toHex(proof.chainHeadBefore));
    }
    return { receipt, holds, problems };
  }

  #get<T>(path: string): Promise<T> {
    return this.service.call<T>('GET', path, undefined, this.signal);
  }

  async #inclusion(sequence: number): Promise<Proven> {
    const { checkpoint, collection } = this;
    const isSigned: Pick<Proven, 'holds' | 'problems'> = {
      holds: [`The event is in the signed log of ${counted(Number(checkpoint.size - 1n), 'event')}.`],
      problems: [],
    };
    const known = this.#heads.get(sequence);
    if (known !== undefined) return { chainHead: known, ...isSigned };
    const size = checkpoint.size > BigInt(sequence) ? Number(checkpoint.size) : undefined;
    const path = pathOf('/v1/proof/inclusion', { collection, sequence, size });
    const inclusion = verifyInclusion(await this.#get<InclusionResponse>(path));
    const head = toHex(inclusion.chainHead);
    const failed = (problem: string): Proven => ({ chainHead: head, holds: [], problems: [problem] });
    if (inclusion.sequence !== BigInt(sequence)) return failed('The service sent a proof of another event.');
    if (size === undefined)
      return {
        chainHead: head,
        holds: [
          `The event is in the log of ${counted(Number(inclusion.log.size), 'event')}, which is newer than the signed one.`,
        ],
        problems: [],
      };
    if (toHex(inclusion.log.root) !== checkpoint.root)
      return failed('The proof places the event in another log than the signed one.');
    this.#heads.set(sequence, head);
    return { chainHead: head, ...isSigned };
  }
}
