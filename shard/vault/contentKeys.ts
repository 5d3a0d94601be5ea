/**
 * The data keys of the records of one open collection that searches find. Their contents are in memory, and so are the
 * keys, until a shred erases both.
 */
import { type Clock, systemEntropy } from '../../shared/clock.js';
import type { EntropyPool } from '../../shared/entropyPool.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { toHex } from '../../shared/hashing/hash.js';
import { TOGETHER } from '../../shared/hashing/longHash.js';
import { GCM_TAG_BYTES, NONCE_BYTES } from '../../shared/limits.js';
import { Damaged } from '../../shared/log/damaged.js';
import { type Event, type EventUnderKey, isUnderKey, type RecordContent } from '../../shared/log/event.js';
import { hashAt } from '../../shared/log/frame.js';
import { commitmentsTo, committedContent, decodeContent, SALT_BYTES } from '../../shared/log/recordContent.js';
import { Slice } from '../../shared/scheduling/slice.js';
import { Slab } from '../../shared/slab.js';
import { type GcmKey, gcmDecrypt, gcmEncryptWith } from '../../shared/vault/aesGcm.js';
import { keyName, nameKey } from '../state/keyName.js';
import type { EncryptedContent } from '../state/plannedContents.js';
import { associatedData } from './associatedData.js';
import { SnapshotKeys } from './snapshotKeys.js';
import { DATA_KEY_BYTES, privateCopy } from './wrappedKey.js';

/** Returns the keys in this order; null for a key that the vault does not have any more. The receiver owns the bytes. */
export type KeySource = (keyIds: readonly string[]) => Promise<readonly (Uint8Array | null)[]>;

/** The plaintexts of a frame, which `forget` overwrites. */
export interface OpenedContents {
  forget(): void;
}

/**
 * A data key, and what every use of it needs. Its associated bytes differ from those of a payload, so that neither opens in the
 * place of the other.
 */
interface OpenKey extends GcmKey {
  readonly id: Uint8Array;
}

/** The last byte of the associated data of a content. */
const CONTENT = 1;

export class ContentKeys {
  /** Keys by id; null once a key is known to be gone. */
  readonly #keys = new Map<string, OpenKey | null>();
  readonly #dropped = new Set<string>();
  readonly #others = new Set<string>();
  /** Nonces and ciphertexts. */
  readonly #pieces = new Slab();
  #isClosed = false;
  #fileKey: Uint8Array | undefined;

  /** `genesisId`: see `PayloadTarget`. */
  constructor(
    private readonly genesisId: number,
    private readonly source: KeySource,
    private readonly clock: Clock,
    /** Called once for each key that does not open a content under its id. */
    private readonly onOther: (keyId: string) => void = () => {},
  ) {}

  /** A key for files that only this process can read. */
  get fileKey(): Uint8Array {
    this.#fileKey ??= privateCopy(systemEntropy(DATA_KEY_BYTES));
    return this.#fileKey;
  }

  has(keyId: string): boolean {
    return this.#keys.get(keyId) != null;
  }

  /** Takes over a key. */
  add(keyId: string, key: Uint8Array): void {
    if (this.#isClosed || this.#dropped.has(keyId) || this.has(keyId)) key.fill(0);
    else this.#keys.set(keyId, this.#openKey(keyId, key));
  }

  /** Overwrites the key for good. */
  drop(keyId: string): void {
    this.#keys.get(keyId)?.bytes.fill(0);
    this.#keys.set(keyId, null);
    this.#dropped.add(keyId);
  }

  /** Overwrites the key that the event shreds, which the state has applied. */
  applied(event: Event): void {
    if (event.type === 'shredKey') this.drop(toHex(event.keyId));
  }

  /** Returns copies of the keys, for another holder of this collection. */
  readonly copies: KeySource = async (keyIds) => {
    await this.#fetch(keyIds);
    return keyIds.map((keyId) => {
      const key = this.#keys.get(keyId);
      return key == null ? null : privateCopy(key.bytes);
    });
  };

  /**
   * Opens the contents of the events that are under keys and not open yet. A content whose key is gone stays null, also if another
   * key was made with that id since. Throws Damaged for a content that it does not commit to, and errors of the source.
   */
  async open(events: readonly Event[]): Promise<OpenedContents> {
    const closed = events.filter((event): event is EventUnderKey => isUnderKey(event) && event.content === null);
    const plaintexts: Uint8Array[] = [];
    const forget = (): void => {
      for (const plaintext of plaintexts) plaintext.fill(0);
      for (const event of closed) event.content = null;
    };
    if (closed.length === 0) return { forget };
    const keyIds = closed.map(({ keyId }) => toHex(keyId));
    await this.#fetch(keyIds);
    const slice = new Slice(this.clock);
    const opened: EventUnderKey[] = [];
    const take = (): void => {
      const group = opened.splice(0);
      const contents = plaintexts.slice(-group.length);
      assertCommitted(group, contents);
      for (const [i, event] of group.entries()) event.content = contentOf(event, contents[i]!);
    };
    try {
      for (const [i, event] of closed.entries()) {
        const key = this.#keys.get(keyIds[i]!);
        if (key == null) continue;
        const plaintext = this.#plaintextOf(event, key);
        if (plaintext === undefined) continue;
        opened.push(event);
        plaintexts.push(plaintext);
        if (opened.length === TOGETHER) take();
        if (slice.due) await slice.next();
      }
      if (opened.length > 0) take();
    } catch (error) {
      forget();
      throw error;
    }
    return { forget };
  }

  /** Returns the salt of the content; undefined if its key is gone. Throws like `open`. */
  async saltOf(event: EventUnderKey): Promise<Uint8Array | undefined> {
    const keyId = toHex(event.keyId);
    await this.#fetch([keyId]);
    const key = this.#keys.get(keyId);
    if (key == null) return undefined;
    const plaintext = this.#plaintextOf(event, key);
    if (plaintext === undefined) return undefined;
    const salt = Uint8Array.from(plaintext.subarray(0, SALT_BYTES));
    plaintext.fill(0);
    return salt;
  }

  /** Encrypts a content under a key that `has` confirms. */
  encrypt(keyId: string, content: RecordContent, random: EntropyPool): EncryptedContent {
    const key = this.#keys.get(keyId);
    if (key == null) throw new RangeError(`key ${keyId} is not open`);
    const { plaintext, commitment } = committedContent(content, random);
    try {
      const nonce = this.#pieces.take(NONCE_BYTES);
      random.fill(nonce);
      const ciphertext = this.#pieces.take(plaintext.length + GCM_TAG_BYTES);
      gcmEncryptWith(nonce, plaintext, key, ciphertext);
      return { keyId: key.id, nonce, commitment, ciphertext };
    } finally {
      plaintext.fill(0);
    }
  }

  /** Returns the keys of the contents in the snapshot with this salt. The caller closes them. */
  ofSnapshot(salt: Uint8Array): SnapshotKeys {
    const get = (keyId: string): OpenKey | undefined => this.#keys.get(keyId) ?? undefined;
    return new SnapshotKeys(salt, { fetch: (keyIds) => this.#fetch(keyIds), get });
  }

  close(): void {
    this.#isClosed = true;
    for (const key of this.#keys.values()) key?.bytes.fill(0);
    this.#fileKey?.fill(0);
    this.#keys.clear();
  }

  async #fetch(keyIds: readonly string[]): Promise<void> {
    const wanted = new Set<string>();
    for (const keyId of keyIds) if (!this.#keys.has(keyId)) wanted.add(keyId);
    if (wanted.size === 0) return;
    const unknown = [...wanted];
    const keys = await this.source(unknown);
    for (const [i, keyId] of unknown.entries()) {
      const key = keys[i]!;
      // A shred may have dropped it meanwhile.
      if (this.#isClosed || this.#keys.has(keyId)) key?.fill(0);
      else this.#keys.set(keyId, key && this.#openKey(keyId, key));
    }
  }

  #openKey(keyId: string, bytes: Uint8Array): OpenKey {
    const associated = Uint8Array.of(...associatedData(this.genesisId, keyId), CONTENT);
    const id = Uint8Array.from(Buffer.from(keyId, 'hex'));
    nameKey(id, keyId);
    return { bytes, id, associated };
  }

  /** The bytes of the event are those that were committed, so a content that does not open is under another key. */
  #plaintextOf(event: EventUnderKey, key: OpenKey): Uint8Array | undefined {
    const { nonce, ciphertext } = event;
    const { id: keyId } = key;
    event.keyId = keyId;
    try {
      return gcmDecrypt(nonce, ciphertext, key);
    } catch {
      const id = keyName(keyId);
      if (!this.#others.has(id)) this.onOther(id);
      this.#others.add(id);
      return undefined;
    }
  }
}

/** Throws Damaged unless the events commit to the plaintexts. */
function assertCommitted(events: readonly EventUnderKey[], plaintexts: readonly Uint8Array[]): void {
  const commitments = commitmentsTo(plaintexts);
  for (const [i, { sequence, commitment }] of events.entries())
    if (Buffer.compare(hashAt(commitments, i), commitment) !== 0)
      throw new Damaged(`event ${sequence}: its content is not the one that it commits to`);
}

function contentOf({ sequence }: EventUnderKey, plaintext: Uint8Array): RecordContent {
  try {
    return decodeContent(plaintext, SALT_BYTES);
  } catch (error) {
    if (error instanceof Malformed) throw new Damaged(`event ${sequence}: ${error.message}`, { cause: error });
    throw error;
  }
}
