/**
 * The data keys of the records of one open collection that searches find. Their contents are in memory, and so are the
 * keys, until a shred erases both.
 */
import { type Clock, type Entropy, systemEntropy } from '../../shared/clock.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { toHex } from '../../shared/hashing/hash.js';
import { Damaged } from '../../shared/log/damaged.js';
import { type Event, type EventUnderKey, isUnderKey, type RecordContent } from '../../shared/log/event.js';
import { commitmentTo, committedContent, contentOf, SALT_BYTES } from '../../shared/log/recordContent.js';
import { Slice } from '../../shared/scheduling/slice.js';
import { associatedData } from './associatedData.js';
import { decrypt, encrypt } from './payloadCipher.js';
import { DATA_KEY_BYTES, privateCopy } from './wrappedKey.js';

/** Returns the keys in this order; null for a key that the vault does not have any more. The receiver owns the bytes. */
export type KeySource = (keyIds: readonly string[]) => Promise<readonly (Uint8Array | null)[]>;

/** The plaintexts of a frame, which `forget` overwrites. */
export interface OpenedContents {
  forget(): void;
}

type EncryptedContent = Pick<EventUnderKey, 'nonce' | 'commitment' | 'ciphertext'>;

export class ContentKeys {
  /** Keys by id; null once a key is known to be gone. */
  readonly #keys = new Map<string, Uint8Array | null>();
  readonly #dropped = new Set<string>();
  readonly #others = new Set<string>();
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
    else this.#keys.set(keyId, key);
  }

  /** Overwrites the key for good. */
  drop(keyId: string): void {
    this.#keys.get(keyId)?.fill(0);
    this.#keys.set(keyId, null);
    this.#dropped.add(keyId);
  }

  /** Returns copies of the keys, for another holder of this collection. */
  readonly copies: KeySource = async (keyIds) => {
    await this.#fetch(keyIds);
    return keyIds.map((keyId) => {
      const key = this.#keys.get(keyId);
      return key == null ? null : privateCopy(key);
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
    await this.#fetch(closed.map(({ keyId }) => toHex(keyId)));
    const slice = new Slice(this.clock);
    try {
      for (const event of closed) {
        const key = this.#keys.get(toHex(event.keyId));
        if (key == null) continue;
        const plaintext = this.#plaintextOf(event, key);
        if (plaintext === undefined) continue;
        plaintexts.push(plaintext);
        event.content = this.#contentOf(event, plaintext);
        if (slice.due) await slice.next();
      }
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
  encrypt(keyId: string, content: RecordContent, entropy: Entropy): EncryptedContent {
    const key = this.#keys.get(keyId);
    if (key == null) throw new RangeError(`key ${keyId} is not open`);
    const { plaintext, commitment } = committedContent(content, entropy(SALT_BYTES));
    const encrypted = encrypt(plaintext, key, this.#associated(keyId), entropy);
    plaintext.fill(0);
    return { ...encrypted, commitment };
  }

  close(): void {
    this.#isClosed = true;
    for (const key of [...this.#keys.values(), this.#fileKey]) key?.fill(0);
    this.#keys.clear();
  }

  async #fetch(keyIds: readonly string[]): Promise<void> {
    const unknown = [...new Set(keyIds)].filter((keyId) => !this.#keys.has(keyId));
    if (unknown.length === 0) return;
    const keys = await this.source(unknown);
    for (const [i, keyId] of unknown.entries()) {
      const key = keys[i]!;
      // A shred may have dropped it meanwhile.
      if (this.#isClosed || this.#keys.has(keyId)) key?.fill(0);
      else this.#keys.set(keyId, key);
    }
  }

  /** The bytes of the event are those that were committed, so a content that does not open is under another key. */
  #plaintextOf({ keyId, nonce, ciphertext }: EventUnderKey, key: Uint8Array): Uint8Array | undefined {
    const id = toHex(keyId);
    try {
      return decrypt({ nonce, ciphertext }, key, this.#associated(id));
    } catch {
      if (!this.#others.has(id)) this.onOther(id);
      this.#others.add(id);
      return undefined;
    }
  }

  #contentOf({ sequence, commitment }: EventUnderKey, plaintext: Uint8Array): RecordContent {
    if (Buffer.compare(commitmentTo(plaintext), commitment) !== 0)
      throw new Damaged(`event ${sequence}: its content is not the one that it commits to`);
    try {
      return contentOf(plaintext);
    } catch (error) {
      if (error instanceof Malformed) throw new Damaged(`event ${sequence}: ${error.message}`, { cause: error });
      throw error;
    }
  }

  /** Differs from that of a payload, so that neither opens in the place of the other. */
  #associated(keyId: string): Uint8Array {
    return Uint8Array.of(...associatedData(this.genesisId, keyId), 1);
  }
}
