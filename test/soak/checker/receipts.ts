/**
 * Checks receipts of answered inserts against the log. Each belongs to its event, and they follow one another. A
 * repeated insert gets the first receipt.
 */
import type { InsertCall, ReceiptClaim } from '../history/records.js';
import { type CollectionLog, stateHashAt } from './log.js';
import type { Violations } from './violations.js';

export function checkReceipts(log: CollectionLog, calls: readonly InsertCall[], violations: Violations): number {
  const { collection, stateRoots } = log;
  const roots = new Map<number, { readonly root: string; readonly call: InsertCall }>();
  const ofRows = new Map<number, ReceiptClaim>();
  let checked = 0;
  for (const call of calls) {
    if (call.outcome.kind !== 'ok') continue;
    const { id, receipt } = call.outcome.answer;
    const { sequence, newRoot, oldRoot, stateHash, recordId } = receipt;
    const violate = (what: string): void => violations.add('wrong receipt', collection, what, call);
    checked++;
    for (const problem of receipt.problems) violate(problem);
    if (recordId !== id) violate(`it is about record ${recordId}`);
    if (stateHashAt(log, sequence, newRoot) !== stateHash) violate('its state hash is not one of this log');
    const { mark } = call.row.metadata;
    const earlier = ofRows.get(mark) ?? receipt;
    ofRows.set(mark, earlier);
    if (JSON.stringify(earlier) !== JSON.stringify(receipt)) violate('the row got two different receipts');
    // The verifier's replay knows some of the roots; neighbouring receipts know the others.
    const known: [at: number, root: string][] = [
      [sequence, newRoot],
      [sequence - 1, oldRoot],
    ];
    for (const [at, root] of known) {
      const other = stateRoots.get(at) ?? roots.get(at)?.root;
      if (other !== undefined && other !== root) violate(`another state root is known of sequence ${at}`);
      if (other === undefined) roots.set(at, { root, call });
    }
  }
  return checked;
}
