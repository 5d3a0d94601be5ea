/**
 * A history in which the servers have lost what they had not synced, as the pages say they may. What was answered before is
 * not judged: it may be gone. What is left is, with all that came after; and a log that ends before its watermark is told of.
 */
import { toHex } from '../../../verifier/bytes.js';
import type { CollectionLog } from '../../soak/checker/log.js';
import { type Call, isWrite } from '../../soak/history.js';
import type { LogOf } from '../../soak/readLogs.js';
import type { Loss } from '../cluster/simulatedService.js';

const UNKNOWN = { kind: 'unknown', why: 'the servers have lost their power' } as const;

/** Reads that a vault answers, which may have lost a key, or that it was shredded. */
const OF_VAULT: readonly string[] = ['getEncrypted', 'keyStatus'];

/** The calls since the loss; of writes before it nobody knows the outcome any more. Refusals may tell of the loss. */
export const sinceLoss = (calls: readonly Call[], { atMs }: Loss): Call[] =>
  calls.flatMap((call): Call[] => {
    const isChange = isWrite(call) || call.op === 'shred' || call.op === 'configureIndex';
    if (call.startMs < atMs) return isChange ? [{ ...call, outcome: UNKNOWN } as Call] : [];
    if (OF_VAULT.includes(call.op)) return [];
    const { kind } = call.outcome;
    // Of a key that the vault has lost, the collections are told nothing when it is shredded.
    const isOpen = kind === 'refused' || kind === 'shredded' || call.op === 'shred' || isPartlyRefused(call);
    return isOpen ? [{ ...call, outcome: UNKNOWN } as Call] : [call];
  });

/** A search of several collections, of which some did not answer. */
const isPartlyRefused = ({ op, outcome }: Call): boolean =>
  op === 'multiSearch' && outcome.kind === 'ok' && outcome.answer.failures.length > 0;

/** What is wrong with the logs after the loss. `told`: the collections that were quarantined. */
export function judgeLoss(
  { ends }: Loss,
  collections: readonly LogOf[],
  logs: readonly CollectionLog[],
  told: ReadonlySet<number>,
): string[] {
  const wrong: string[] = [];
  for (const { collectionId, sequence, chainHead, noted } of ends) {
    const name = collections.find(({ id }) => id === collectionId)?.name;
    const log = logs.find(({ collection }) => collection === name);
    if (log === undefined) continue;
    const entry = log.entries[sequence - 1];
    if (sequence > 0 && (entry === undefined || toHex(entry.chainHead) !== chainHead))
      wrong.push(`${name} has lost event ${sequence}, which its servers had kept`);
    if (noted > sequence && !told.has(collectionId))
      wrong.push(`${name} ended with event ${sequence}, ${noted} was noted, and nothing tells of it`);
  }
  return wrong;
}
