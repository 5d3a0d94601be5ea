/**
 * Pins the last checkpoint of each collection, and of the service log. The log must continue it, which a service that rewrote
 * its history cannot prove.
 */

import { counted } from '../verifier/counted.js';
import { LogAlarm, parsePolicy, type SeenLog, visitLog } from '../verifier/index.js';
import type { Collection } from './collection.js';
import { HistoryRewrittenError, ProofError } from './errors.js';
import { type CallOptions, split } from './http.js';
import { type Signer, signerOf, type VerifiedCheckpoint, verifyCheckpoint, verifyConsistency } from './proofs.js';

/** A store of pinned checkpoints: a Map, a file, the storage of a browser. */
export interface CheckpointStore {
  get(key: string): string | null | undefined | Promise<string | null | undefined>;
  set(key: string, value: string): unknown;
}

export interface CheckedCollection {
  readonly checkpoint: VerifiedCheckpoint;
  /** The checkpoint that was pinned before; undefined at the first visit. */
  readonly last: VerifiedCheckpoint | undefined;
  /** The number of new events since `last`. */
  readonly events: number;
  /** Whether another key signed `last`. */
  readonly isKeyNew: boolean;
}

/** The service log at one visit. */
export interface CheckedLog {
  readonly origin: string;
  readonly size: number;
  /** The number of new entries since the last visit. */
  readonly entries: number;
  /** The witnesses that have cosigned it: their names in the policy, and unix seconds. */
  readonly witnesses: readonly { readonly name: string; readonly timeSecs: number }[];
}

/** A store that lasts as long as the process. */
export const memoryStore = (): CheckpointStore => new Map<string, string>();

/** A store in `localStorage`, or anything like it. */
export const storageStore = (storage: {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}): CheckpointStore => ({
  get: (key) => storage.getItem(key),
  set: (key, value) => storage.setItem(key, value),
});

export class PinnedCheckpoints {
  readonly #collection: (name: string) => Collection;
  readonly #readLog: (path: string, options: CallOptions) => Promise<Uint8Array>;
  readonly #store: CheckpointStore;
  readonly #url: string;

  /** @internal */
  constructor(
    url: string,
    collection: (name: string) => Collection,
    readLog: (path: string, options: CallOptions) => Promise<Uint8Array>,
    store: CheckpointStore,
  ) {
    this.#url = url;
    this.#collection = collection;
    this.#readLog = readLog;
    this.#store = store;
  }

  /**
   * Requests a checkpoint, verifies it and that the log continues the pinned one, and pins it. Throws HistoryRewrittenError; then
   * the old one stays pinned.
   */
  async check(name: string, asked: CallOptions & Signer = {}): Promise<CheckedCollection> {
    const collection = this.#collection(name);
    const [signer, options] = split(asked);
    signerOf(signer);
    const checkpoint = verifyCheckpoint(await collection.checkpoint(options), signer);
    const { origin } = checkpoint;
    if (origin.name !== name)
      throw new ProofError(
        'proof',
        `the checkpoint is of ${origin.project}/${origin.name}, not of ${name}; if ${name} is an alias, name the collection itself: proofs are made for collections`,
      );
    const key = this.#placeOf(checkpoint);
    const kept = await this.#store.get(key);
    const last = kept == null ? undefined : (JSON.parse(kept) as VerifiedCheckpoint);
    const reason = last && (await rewritten(collection, last, checkpoint, options));
    if (reason !== undefined)
      throw new HistoryRewrittenError('history_rewritten', `the history of ${name} was rewritten: ${reason}`);
    await this.#store.set(key, JSON.stringify(checkpoint));
    const events = checkpoint.size - (last?.size ?? Math.min(checkpoint.size, 1));
    return { checkpoint, last, events, isKeyNew: last !== undefined && last.publicKey !== checkpoint.publicKey };
  }

  /**
   * Reads the new entries of the service log, verifies them, and pins its checkpoint. `policy`: the text of a policy
   * (c2sp.org/tlog-policy) with one log. Throws HistoryRewrittenError if the log does not continue the pinned checkpoint, or makes
   * impossible claims about a collection; then the old checkpoint stays pinned. Throws ProofError if the policy does not accept the
   * log.
   */
  async checkLog(policy: string, options: CallOptions = {}): Promise<CheckedLog> {
    const parsed = parsePolicy(policy);
    const key = `vouch-log/${parsed.logs.map((log) => log.key.name).join(' ')}`;
    const kept = await this.#store.get(key);
    const last = kept == null ? undefined : (JSON.parse(kept) as SeenLog);
    // An answer that cannot be read is not a failure of the log.
    const failures: unknown[] = [];
    const read = (path: string): Promise<Uint8Array> =>
      this.#readLog(path, options).catch((error: unknown) => {
        failures.push(error);
        throw error;
      });
    try {
      const { seen, checkpoint, entries } = await visitLog(read, parsed, last);
      await this.#store.set(key, JSON.stringify(seen));
      const { origin, size, witnesses } = checkpoint;
      return { origin, size, entries: entries.length, witnesses };
    } catch (error) {
      if (failures.includes(error)) throw error;
      const { message } = error as Error;
      throw error instanceof LogAlarm
        ? new HistoryRewrittenError('history_rewritten', message, { cause: error })
        : new ProofError('proof', `the service log does not hold: ${message}`, { cause: error });
    }
  }

  /** Pins a checkpoint, whatever was pinned before. */
  async accept(checkpoint: VerifiedCheckpoint): Promise<void> {
    await this.#store.set(this.#placeOf(checkpoint), JSON.stringify(checkpoint));
  }

  /** The name of a checkpoint in the store. It has the URL, since services may have projects and collections of the same names. */
  #placeOf({ origin: { project, name } }: VerifiedCheckpoint): string {
    return `vouch-seen/${this.#url}/${project}/${name}`;
  }
}

async function rewritten(
  collection: Collection,
  last: VerifiedCheckpoint,
  now: VerifiedCheckpoint,
  options: CallOptions,
): Promise<string | undefined> {
  if (last.origin.id !== now.origin.id || last.origin.configHash !== now.origin.configHash)
    return 'it is another collection of the same name';
  if (now.size < last.size) return `it had ${counted(last.size, 'event')} and has ${now.size}`;
  if (now.size === last.size)
    return now.root === last.root ? undefined : 'it has the same number of events, but different ones';
  if (last.size === 0) return undefined;
  const proof = await collection.consistency(last.size - 1, now.size - 1, options);
  try {
    const { from, to } = verifyConsistency(proof);
    if (from.size !== last.size || to.size !== now.size) return 'the proof is about logs of other sizes';
    if (from.root !== last.root) return 'the events seen before have changed';
    return to.root === now.root ? undefined : 'the proof leads to another log than the signed one';
  } catch (error) {
    return (error as Error).message;
  }
}
