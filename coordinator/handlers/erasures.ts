/**
 * Certificates of erasure. The keys are shredded first. A key that is shredded already gets its certificate again.
 *
 * ```text
 * keys named, or found by a filter ──▶ contents counted ──▶ each key shredded ──▶ statements of each collection ──▶ proofs,
 * page by page ──▶ each key certified by a shard that reads the vault
 * ```
 *
 * A failure concerns one key, or the keys of one collection. It is part of the answer, so that the ids of keys that a filter has
 * found are not lost.
 */
import { refusal, VouchError } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { ERASED_CONTENTS_MAX, ERASED_KEYS_MAX, ERASED_PAGE } from '../../shared/limits.js';
import {
  CONTENT_BYTES,
  decodeErasedContents,
  type ErasedContent,
  erasureStatementHash,
} from '../../shared/log/erasedContents.js';
import { namedActor } from '../../shared/model/actor.js';
import type { KeyEntry } from '../../shared/protocol/calls.js';
import type { ErasedRecord, KeyErasure, SignedText } from '../../shared/protocol/erasures.js';
import { isImporting } from '../../shared/registry/catalogEntry.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import type { Prepared } from '../body/kinds.js';
import type { Collection } from '../cluster/catalog/collection.js';
import { isDeletion } from '../cluster/catalog/deleted.js';
import type {
  CollectionErasure,
  ErasureCertificate,
  ErasureFailure,
  ErasuresResponse,
  KeyShred,
  ErasedContent as ShownContent,
  ErasedRecord as ShownRecord,
} from '../contract/erasures.js';
import { invalid } from '../contract/refusal.js';
import { COLLECTION_ERRORS, type HandlerRequest } from '../http/handlerRequest.js';
import type { Reply } from '../http/reply.js';
import { type Route, writeRoute } from '../http/route.js';
import { base64url, checkpointAnswer, EVENT_TYPES, loggedCheckpoint } from './proofs.js';
import { shredKey } from './shred.js';

const ENTRIES_AT_ONCE = 16;
const SHREDS_AT_ONCE = 8;
const COLLECTIONS_AT_ONCE = 4;

type EraseRequest = HandlerRequest<Prepared<'erase'>>;
type StoredEntry = readonly [keyId: string, entry: KeyEntry | 'damaged' | undefined];
/** The parts of a certificate by the id of their collection; null for a deleted one. */
type Parts = Map<number, CollectionErasure | null>;

export const ERASURE_ROUTES: readonly Route[] = [
  writeRoute('POST /v1/erasures', {
    isOfProject: true,
    alsoReads: true,
    summary: 'Shred vault keys, and certify what is erased',
    body: 'erase',
    deadline: 'rebuildMs',
    answers: 'ErasuresResponse',
    errors: [...COLLECTION_ERRORS, 'capacity_exceeded'],
    handle: erase,
  }),
];

async function erase(request: EraseRequest): Promise<Reply> {
  const { keyIds, withoutKey } = await keysOf(request);
  const erasure = new Erasure(request);
  const certificates = await erasure.certificates(await erasure.certifiable(keyIds));
  const { failures } = erasure;
  return erasure.request.longJson<ErasuresResponse>({
    certificates,
    ...(failures.length > 0 && { partial_failures: failures }),
    ...(withoutKey > 0 && { without_key: withoutKey }),
  });
}

async function keysOf(
  request: EraseRequest,
): Promise<{ readonly keyIds: readonly string[]; readonly withoutKey: number }> {
  const { keyIds, collection, filter } = request.body;
  if (filter === undefined) return { keyIds: [...new Set(keyIds)], withoutKey: 0 };
  return request.callNamed(collection, { op: 'keysOf', filter, keysMax: ERASED_KEYS_MAX });
}

class Erasure {
  readonly #failures = new Map<string, ErasureFailure>();
  readonly #lastMs: number;

  constructor(public request: EraseRequest) {
    const { clock, config } = request.services;
    this.#lastMs = clock.nowMs() + config.limits.rebuildMs;
  }

  /**
   * Moves the deadline of all further calls. Many keys take longer than a request usually may; without an answer for that long, all
   * that is left fails soon.
   */
  #proceed(): void {
    const { clock, config } = this.request.services;
    this.request = this.request.until(Math.min(clock.nowMs() + config.limits.deadlineMs, this.#lastMs));
  }

  get failures(): ErasureFailure[] {
    return [...this.#failures.values()];
  }

  /**
   * Returns the keys that the vault knows and whose contents could be counted; the others are failures, and not shredded. Throws
   * `validation_error` if they have more contents than one answer certifies. Nothing is shredded then.
   */
  async certifiable(keyIds: readonly string[]): Promise<string[]> {
    const { backend } = this.request.services;
    const entries = await mapConcurrent(
      keyIds,
      ENTRIES_AT_ONCE,
      async (keyId) => [keyId, await this.#entry(keyId)] as const,
    );
    for (const [keyId, entry] of entries)
      if (entry === undefined) this.#note([keyId], refusal('not_found', 'vaultKey', { key: keyId }));
    const known = entries.filter(([, entry]) => entry !== undefined);
    const counts = await mapConcurrent([...keysByCollection(known)], COLLECTIONS_AT_ONCE, async ([id, ids]) => {
      const collection = await backend.findById(id);
      if (collection === undefined || isImporting(collection)) return 0;
      let count = 0;
      await this.#noting(ids, async () => {
        const asked = this.request.call(collection, { op: 'countUnderKeys', keyIds: ids });
        count = (await unlessDeleted(asked))?.count ?? 0;
      });
      return count;
    });
    const count = counts.reduce((sum, one) => sum + one, 0);
    if (count <= ERASED_CONTENTS_MAX)
      return known.map(([keyId]) => keyId).filter((keyId) => !this.#failures.has(keyId));
    throw invalid(
      `the log has ${count} contents under these keys, and one request certifies ${ERASED_CONTENTS_MAX}: name fewer keys; ` +
        'DELETE /v1/crypto/shred/{key_id} erases any number of records without a certificate',
    );
  }

  async certificates(keyIds: readonly string[]): Promise<ErasureCertificate[]> {
    const { services, caller } = this.request;
    const entries: StoredEntry[] = [];
    await mapConcurrent(keyIds, SHREDS_AT_ONCE, (keyId) =>
      this.#noting([keyId], async () => {
        await shredKey(services.backend, caller.project, keyId, this.request.envelope);
        entries.push([keyId, await this.#entry(keyId)]);
      }),
    );
    const parts = new Map<string, Parts>(entries.map(([keyId]) => [keyId, new Map()]));
    await mapConcurrent([...keysByCollection(entries)], COLLECTIONS_AT_ONCE, ([id, ids]) =>
      this.#noting(ids, () => this.#addParts(id, ids, parts)),
    );
    const certificates = new Map<string, ErasureCertificate>();
    const whole = [...parts].filter(([keyId]) => !this.#failures.has(keyId));
    await mapConcurrent(whole, ENTRIES_AT_ONCE, ([keyId, ofKey]) =>
      this.#noting([keyId], async () => void certificates.set(keyId, await this.#certificate(keyId, ofKey))),
    );
    return keyIds.flatMap((keyId) => certificates.get(keyId) ?? []);
  }

  async #certificate(keyId: string, parts: Parts): Promise<ErasureCertificate> {
    const { services, caller, envelope } = this.request;
    const inOrder = [...parts].sort(([one], [other]) => one - other);
    const collections = inOrder.map(([id, part]) => ({
      id,
      statement: part === null ? null : toHex(erasureStatementHash(part.statement)),
    }));
    const signed = await services.backend.keyEntries.certify(caller.project, keyId, collections, envelope);
    const { text, ...by } = signedBy(signed);
    return {
      key_id: keyId,
      certificate: text,
      ...by,
      collections: inOrder.flatMap(([, part]) => part ?? []),
    };
  }

  /** Adds what was erased in a collection to the parts of the keys. */
  async #addParts(id: number, keyIds: readonly string[], parts: ReadonlyMap<string, Parts>): Promise<void> {
    const collection = await this.request.services.backend.findById(id);
    const made = collection && (await unlessDeleted(this.#partsOf(collection, keyIds)));
    for (const keyId of keyIds) parts.get(keyId)!.set(id, made?.get(keyId) ?? null);
  }

  /** The erased contents of the collection, by key. */
  async #partsOf(collection: Collection, keyIds: readonly string[]): Promise<Map<string, CollectionErasure>> {
    if (isImporting(collection)) throw refusal('conflict', 'importing', { name: collection.name });
    const logged = this.request.body.isLogged ? await loggedCheckpoint(this.request, collection) : undefined;
    this.#proceed();
    const answer = await this.request.call(collection, {
      op: 'erasures',
      keyIds,
      size: logged === undefined ? null : sizeIn(logged.checkpoint),
    });
    const { size, state } = answer;
    const checkpoint = logged ?? checkpointAnswer(answer.checkpoint!);
    const parts = new Map<string, CollectionErasure>();
    for (const erasure of answer.erasures) {
      const contents = await this.#contents(collection, erasure, size);
      const { text: statement, ...by } = signedBy(erasure.statement);
      const isInState = state !== null && contents.some(({ record }) => record !== undefined);
      parts.set(erasure.keyId, {
        ...{ collection: collection.name, collection_id: collection.id, statement, ...by, checkpoint },
        shred: shownShred(erasure.shred),
        contents,
        ...(isInState && {
          state: { records: state.records, graph_root: toHex(state.graphRoot), time_ms: state.timeMs },
        }),
      });
    }
    return parts;
  }

  async #contents(collection: Collection, { contents: bytes }: KeyErasure, size: number): Promise<ShownContent[]> {
    const shown: ShownContent[] = [];
    for (let from = 0; from < bytes.length; from += ERASED_PAGE * CONTENT_BYTES) {
      const page = decodeErasedContents(bytes.subarray(from, from + ERASED_PAGE * CONTENT_BYTES));
      const { proofs, records } = await this.request.call(collection, {
        op: 'erasureProofs',
        size,
        sequences: page.map(({ sequence }) => sequence),
        recordIds: page.map(({ recordId }) => recordId),
      });
      this.#proceed();
      shown.push(...page.map((content, i) => shownContent(content, proofs[i]!, records[i]!)));
    }
    return shown;
  }

  #entry(keyId: string): Promise<StoredEntry[1]> {
    const { services, caller, envelope } = this.request;
    return services.backend.keyEntries.find(caller.project, keyId, envelope);
  }

  /** Does the work. A VouchError becomes a failure of each of the keys. */
  async #noting(keyIds: readonly string[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#proceed();
    } catch (error) {
      if (!(error instanceof VouchError)) throw error;
      this.#note(keyIds, error);
    }
  }

  #note(keyIds: readonly string[], { code, message: error }: VouchError): void {
    for (const key_id of keyIds) if (!this.#failures.has(key_id)) this.#failures.set(key_id, { key_id, code, error });
  }
}

/** Resolves to the result of the call to a collection; undefined if the collection was deleted meanwhile. */
const unlessDeleted = <T>(asked: Promise<T>): Promise<T | undefined> =>
  asked.catch((error: unknown) => {
    if (!isDeletion(error)) throw error;
    return undefined;
  });

/** The keys of each collection that may have content under them. */
function keysByCollection(entries: readonly StoredEntry[]): ReadonlyMap<number, readonly string[]> {
  const keys = new Map<number, string[]>();
  for (const [keyId, entry] of entries)
    for (const id of entry === undefined || entry === 'damaged' ? [] : entry.collectionIds) {
      const before = keys.get(id);
      if (before === undefined) keys.set(id, [keyId]);
      else before.push(keyId);
    }
  return keys;
}

const signedBy = ({ text, signature, publicKey }: SignedText) => ({
  text,
  signature: toHex(signature),
  public_key: toHex(publicKey),
});

/** The number of events in the third line of a checkpoint. */
const sizeIn = (checkpoint: string): number => Number(checkpoint.split('\n')[2]);

const shownShred = ({ sequence, timeMs, actor, chainHeadBefore, proof }: KeyErasure['shred']): KeyShred => ({
  sequence,
  time_ms: timeMs,
  ...(actor !== null && { actor: namedActor(actor) }),
  chain_head_before: toHex(chainHeadBefore),
  proof: base64url(proof),
});

const shownContent = (
  { sequence, type, recordId, timeMs, commitment }: ErasedContent,
  proof: Uint8Array,
  record: ErasedRecord | null,
): ShownContent => ({
  sequence,
  event_type: EVENT_TYPES[type],
  record_id: recordId,
  time_ms: timeMs,
  commitment: toHex(commitment),
  proof: base64url(proof),
  ...(record !== null && { record: shownRecord(record) }),
});

const shownRecord = ({ isTombstoned, tag, insertedMs, expiresAtMs, path }: ErasedRecord): ShownRecord => ({
  state: isTombstoned ? 'tombstoned' : 'live',
  tag,
  inserted_ms: insertedMs,
  ...(expiresAtMs !== null && { expires_at_ms: expiresAtMs }),
  path: base64url(path),
});
