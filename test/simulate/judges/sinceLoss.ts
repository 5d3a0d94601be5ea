/**
 * Judges a history in which servers have lost unsynced data, as the pages allow it. Answers from before the loss are compared with
 * the logs of that time. After the loss, each log is a beginning of its former log, with everything that was stored for longer
 * than the sync interval. At the end it still has that, and all later events. A log that ends before its watermark is reported,
 * and so is a service log that ends before its checkpoint.
 */
import { toHex } from '../../../verifier/bytes.js';
import { GivenFrames } from '../../../verifier/source.js';
import type { CollectionLog } from '../../soak/checker/log.js';
import { type Call, isWrite } from '../../soak/history.js';
import { type LogOf, readLog, rootSequences } from '../../soak/readLogs.js';
import type { Loss } from '../cluster/simulatedService.js';

const UNKNOWN = { kind: 'unknown', why: 'the servers have lost their power' } as const;

/** Returns the calls before the loss. A call that was not answered by then has an unknown outcome. */
export const untilLoss = (calls: readonly Call[], { atMs }: Loss): Call[] =>
  calls
    .filter(({ startMs }) => startMs < atMs)
    .map((call): Call => (call.endMs < atMs ? call : ({ ...call, outcome: UNKNOWN } as Call)));

/** Returns the logs just before the loss. `after`: the logs at the end. */
export async function logsBefore(
  { before }: Loss,
  collections: readonly LogOf[],
  calls: readonly Call[],
  after: readonly CollectionLog[],
): Promise<CollectionLog[]> {
  const logs: CollectionLog[] = [];
  for (const { name, id } of collections) {
    const frames = before.find(({ collectionId }) => collectionId === id)?.frames ?? [];
    const log = await readLog(name, new GivenFrames(frames), rootSequences(calls, name));
    // An empty log has no genesis event yet; its genesis is the same whenever it is written.
    const begun = frames.length > 0 ? undefined : after.find(({ collection }) => collection === name);
    logs.push(begun === undefined ? log : { ...log, configHash: begun.configHash, genesis: begun.genesis });
  }
  return logs;
}

/** Reads that the vault answers. It may have lost a key, or the fact that one was shredded. */
const OF_VAULT: readonly string[] = ['getEncrypted', 'keyStatus'];

/** Returns the calls since the loss, and earlier writes with an unknown outcome. Later refusals may be due to the loss. */
export const sinceLoss = (calls: readonly Call[], { atMs }: Loss): Call[] =>
  calls.flatMap((call): Call[] => {
    const isChange = isWrite(call) || call.op === 'shred' || call.op === 'configureIndex';
    if (call.startMs < atMs) return isChange ? [{ ...call, outcome: UNKNOWN } as Call] : [];
    if (OF_VAULT.includes(call.op)) return [];
    const { kind } = call.outcome;
    // The shred of a key that the vault has lost does not reach the collections.
    const isOpen = kind === 'refused' || kind === 'shredded' || call.op === 'shred' || isPartlyRefused(call);
    return isOpen ? [{ ...call, outcome: UNKNOWN } as Call] : [call];
  });

/** Whether some collections did not answer a search over several. */
const isPartlyRefused = ({ op, outcome }: Call): boolean =>
  op === 'multiSearch' && outcome.kind === 'ok' && outcome.answer.failures.length > 0;

/** Returns what is wrong in the logs after the loss. `reported`: ids of the quarantined collections. */
export function judgeLoss(
  { ends, before, syncedAgoMs }: Loss,
  collections: readonly LogOf[],
  logs: readonly CollectionLog[],
  reported: ReadonlySet<number>,
): string[] {
  const wrong: string[] = [];
  const nameOf = (collectionId: number): string | undefined => collections.find(({ id }) => id === collectionId)?.name;
  for (const { collectionId, heads, sequenceFor } of before) {
    const name = nameOf(collectionId);
    // Collections of other projects come and go.
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
    if (noted > sequence && !reported.has(collectionId))
      wrong.push(`${name} ended with event ${sequence}, its watermark says ${noted}, and no shard reports it`);
  }
  return wrong;
}
