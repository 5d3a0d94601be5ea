/**
 * Pins the last checkpoint of each collection that this browser has seen. The served log must continue it, which a service that
 * rewrote its history cannot prove.
 */
import type { CheckpointResponse, ConsistencyResponse } from '../../coordinator/contract/proofs.js';
import { type Checkpoint, toHex, verifyCheckpoint, verifyConsistency } from '../../verifier/index.js';
import { counted } from '../parts/values.js';
import { PREFIX } from '../prefix.js';
import { pathOf, type Service } from '../service.js';

/** The stored part of a pinned checkpoint. Sizes count the genesis. */
interface Pinned {
  readonly id: string;
  readonly configHash: string;
  readonly size: string;
  readonly root: string;
  readonly publicKey: string;
  readonly atMs: number;
}

/** The served history, compared with the pinned checkpoint. */
export interface ComparedHistory {
  readonly checkpoint: Checkpoint;
  /** Undefined at the first visit. */
  readonly last: Pinned | undefined;
  /** How the history contradicts the pinned checkpoint; undefined if it does not, or at the first visit. */
  readonly alarm: string | undefined;
  /** Whether the last checkpoint was signed with another key. */
  readonly isKeyNew: boolean;
}

/**
 * Compares the served history with the pinned checkpoint, and pins the new one unless they contradict each other. Throws an Error if
 * the new checkpoint does not verify, CallError if the service refuses.
 */
export async function compareWithPinned(
  service: Service,
  collection: string,
  signal: AbortSignal,
): Promise<ComparedHistory> {
  const path = pathOf('/v1/proof/checkpoint', { collection });
  const checkpoint = verifyCheckpoint(await service.call<CheckpointResponse>('GET', path, undefined, signal));
  const { name } = checkpoint.origin;
  if (name !== collection) throw new Error(`The service answered with the checkpoint of another collection: ${name}.`);
  const last = pinnedFor(checkpoint);
  const alarm = last && (await rewritten({ service, signal }, collection, last, checkpoint));
  if (alarm === undefined) pin(checkpoint);
  return { checkpoint, last, alarm, isKeyNew: last !== undefined && last.publicKey !== checkpoint.publicKey };
}

/** Replaces the pinned checkpoint. */
export function pin(checkpoint: Checkpoint): void {
  const { origin, size, root, publicKey } = checkpoint;
  const pinned: Pinned = {
    id: String(origin.id),
    configHash: origin.configHash,
    size: String(size),
    root,
    publicKey,
    atMs: Date.now(),
  };
  localStorage.setItem(placeOf(checkpoint), JSON.stringify(pinned));
}

const placeOf = ({ origin: { project, name } }: Checkpoint): string => `vouch-seen${PREFIX}/${project}/${name}`;

function pinnedFor(checkpoint: Checkpoint): Pinned | undefined {
  const kept = localStorage.getItem(placeOf(checkpoint));
  return kept === null ? undefined : (JSON.parse(kept) as Pinned);
}

async function rewritten(
  { service, signal }: { readonly service: Service; readonly signal: AbortSignal },
  collection: string,
  last: Pinned,
  now: Checkpoint,
): Promise<string | undefined> {
  if (last.id !== String(now.origin.id) || last.configHash !== now.origin.configHash)
    return 'This is another collection of the same name. The collection that this browser saw was deleted, or replaced.';
  const [before, size] = [BigInt(last.size), now.size];
  if (size < before)
    return `The log had ${counted(Number(before - 1n), 'event')} and now has ${size - 1n}: its latest events were removed.`;
  if (size === before)
    return now.root === last.root ? undefined : 'The log has the same number of events as before, but different ones.';
  if (before === 0n) return undefined;
  const path = pathOf('/v1/proof/consistency', { collection, from: String(before - 1n), to: String(size - 1n) });
  try {
    const { from, to } = verifyConsistency(await service.call<ConsistencyResponse>('GET', path, undefined, signal));
    if (from.size !== before || to.size !== size) return 'The service sent a proof about another log.';
    if (toHex(from.root) !== last.root) return 'Events that this browser saw before were changed.';
    if (toHex(to.root) !== now.root) return 'The proof is about another log than the signed one.';
    return undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return `The service did not prove that the log continues the one that this browser saw: ${(error as Error).message}`;
  }
}
