/**
 * A history in which the servers have lost what they had not synced, as the pages say they may. What was answered before is
 * held against the logs as they were then. What is left is the beginning of those, with all that had been stored for longer
 * than the servers take to sync; it is still there at the end, with all that came after. A log that ends before its
 * watermark is told of, and a service log that ends before its checkpoint.
 */
import { toHex } from '../../../verifier/bytes.js';
import { GivenFrames } from '../../../verifier/source.js';
import type { CollectionLog } from '../../soak/checker/log.js';
import { type Call, isWrite } from '../../soak/history.js';
import { type LogOf, readLog, toldSequences } from '../../soak/readLogs.js';
import type { Loss } from '../cluster/simulatedService.js';

const UNKNOWN = { kind: 'unknown', why: 'the servers have lost their power' } as const;

/** The calls until the loss; of those that it met nobody knows what came of them. */
export const untilLoss = (calls: readonly Call[], { atMs }: Loss): Call[] =>
  calls
    .filter(({ startMs }) => startMs < atMs)
    .map((call): Call => (call.endMs < atMs ? call : ({ ...call, outcome: UNKNOWN } as Call)));

/** The logs as they were just before the loss. `after`: as they are at the end. */
export async function logsBefore(
  { before }: Loss,
  collections: readonly LogOf[],
  calls: readonly Call[],
  after: readonly CollectionLog[],
): Promise<CollectionLog[]> {
  const logs: CollectionLog[] = [];
  for (const { name, id } of collections) {
    const frames = before.find(({ collectionId }) => collectionId === id)?.frames ?? [];
    const log = await readLog(name, new GivenFrames(frames), toldSequences(calls, name));
    // One that had not begun tells no genesis, which is the same whenever it begins.
    const begun = frames.length > 0 ? undefined : after.find(({ collection }) => collection === name);
    logs.push(begun === undefined ? log : { ...log, configHash: begun.configHash, genesis: begun.genesis });
  }
  return logs;
}

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
  { ends, before, syncedAgoMs }: Loss,
  collections: readonly LogOf[],
  logs: readonly CollectionLog[],
  told: ReadonlySet<number>,
): string[] {
  const wrong: string[] = [];
  const nameOf = (collectionId: number): string | undefined => collections.find(({ id }) => id === collectionId)?.name;
  for (const { collectionId, heads, sequenceFor } of before) {
    const name = nameOf(collectionId);
    // Others come and go.
    if (name === undefined) continue;
    const { sequence, chainHead } = ends.find((end) => end.collectionId === collectionId) ?? {
      sequence: 0,
      chainHead: '',
    };
    const synced = sequenceFor(syncedAgoMs);
    if (sequence < synced) wrong.push(`${name} has lost event ${synced}, which was stored long before`);
    const known = heads.get(sequence);
    if (known !== undefined && known !== chainHead)
      wrong.push(`${name} has another event ${sequence} than before its servers lost their power`);
  }
  for (const { collectionId, sequence, chainHead, noted } of ends) {
    const name = nameOf(collectionId);
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
