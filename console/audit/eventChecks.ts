/** What can be checked of one event, in this browser, without believing the service. */
import type { InclusionResponse, TimelineEvent } from '../../coordinator/contract/proofs.js';
import type { Receipt } from '../../coordinator/contract/records.js';
import { type Checkpoint, chainHead, readProof, toHex, verifyInclusion, verifyReceipt } from '../../verifier/index.js';
import { pathOf, type Service } from '../service.js';

export interface Checked {
  readonly receipt: Receipt | undefined;
  /** What holds, in words. */
  readonly holds: readonly string[];
  readonly problems: readonly string[];
}

/** Events that change a record have receipts. */
export const hasReceipt = ({ event_type: type, record_id: id }: TimelineEvent): boolean =>
  id !== undefined && type !== 'shred_key';

export async function checkEvent(
  service: Service,
  collection: string,
  event: TimelineEvent,
  checkpoint: Checkpoint,
): Promise<Checked> {
  const sequence = event.log_index;
  const holds: string[] = [];
  const problems: string[] = [];
  const size = checkpoint.size > BigInt(sequence) ? Number(checkpoint.size) : undefined;
  const inclusion = verifyInclusion(
    await service.call<InclusionResponse>('GET', pathOf('/v1/proof/inclusion', { collection, sequence, size })),
  );
  if (inclusion.sequence !== BigInt(sequence)) problems.push('the service proves another event');
  else if (size === undefined) holds.push(`is in the log of ${inclusion.log.size} events, which is not signed yet`);
  else if (toHex(inclusion.log.root) === checkpoint.root)
    holds.push(`is in the signed log of ${checkpoint.size - 1n} events`);
  else problems.push('the log that it is proven to be in is not the signed one');
  if (!hasReceipt(event)) return { receipt: undefined, holds, problems };
  const receipt = await service.call<Receipt>('GET', pathOf('/v1/proof/receipt', { collection, sequence }));
  const flaws = verifyReceipt(receipt);
  problems.push(...flaws);
  if (flaws.length > 0) return { receipt, holds, problems };
  holds.push('its receipt holds: from the old root to the new one');
  const { chainHeadBefore, eventHash } = readProof(receipt.proof);
  if (receipt.sequence !== sequence || receipt.record_id !== event.record_id)
    problems.push('the receipt is of another write');
  else if (toHex(chainHead(chainHeadBefore, eventHash)) === toHex(inclusion.chainHead))
    holds.push('the receipt and the log tell the same event');
  else problems.push('the receipt tells another event than the log');
  return { receipt, holds, problems };
}
