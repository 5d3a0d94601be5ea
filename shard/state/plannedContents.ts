/** The contents that a commit in progress encrypts under keys. */
import { GCM_TAG_BYTES } from '../../shared/limits.js';
import type { EventUnderKey, RecordContent } from '../../shared/log/event.js';
import { isUnderKey } from '../../shared/log/event.js';
import { BESIDE_EVENT_BYTES, contentBytes, expiryBytes, underKeySizeBytes } from '../../shared/log/eventLayout.js';
import { plaintextBytes } from '../../shared/log/recordContent.js';
import type { CollectionState } from './collectionState.js';
import { insertedBytes } from './growth.js';
import type { PlannedChanges } from './plannedChanges.js';
import { unreadable } from './refusals.js';

export type EncryptedContent = Pick<EventUnderKey, 'keyId' | 'nonce' | 'commitment' | 'ciphertext'>;

export interface ContentCipher {
  /** Whether every record must be under a key. */
  readonly isRule: boolean;
  /** Encrypts a content under a key that is open. */
  encrypt(keyId: string, content: RecordContent): EncryptedContent;
}

type Fields = Parameters<typeof contentBytes>[0];
type Expiring = Parameters<typeof expiryBytes>[0];

/** Bytes of an event under a key that encrypts this content. */
export const encryptedBytes = (content: number): number =>
  BESIDE_EVENT_BYTES + underKeySizeBytes(plaintextBytes(content) + GCM_TAG_BYTES);

/** Returns the bytes that a record adds to its collection. */
export const recordBytes = (record: Fields & Expiring, isEncrypted: boolean): number => {
  const content = contentBytes(record);
  return (isEncrypted ? encryptedBytes(content) + content : insertedBytes(content)) + expiryBytes(record);
};

export class PlannedContents {
  constructor(
    private readonly state: CollectionState,
    private readonly changes: PlannedChanges,
    private readonly cipher: ContentCipher | undefined,
  ) {}

  get isRule(): boolean {
    return this.cipher?.isRule ?? false;
  }

  encrypted(underKey: string, content: RecordContent): EncryptedContent & Pick<EventUnderKey, 'content'> {
    if (this.cipher === undefined) throw new RangeError('this plan encrypts nothing');
    const { keyId, nonce, commitment, ciphertext } = this.cipher.encrypt(underKey, content);
    return { keyId, nonce, commitment, ciphertext, content };
  }

  /** Returns the content of a live record under a key after the earlier writes. Throws like a read of the record. */
  of(recordId: number): RecordContent {
    const last = this.changes.last(recordId);
    if (last !== undefined && isUnderKey(last) && last.content !== null) return last.content;
    const { state } = this;
    const slot = state.liveSlotOf(recordId);
    if (slot === undefined) throw unreadable(state, recordId);
    return state.contentAt(slot);
  }
}
