/**
 * Finds the entry of a key among its messages. Entries count their versions, and a writer of one has read that the version
 * before it is current. So **the entry is the first message of the highest version**: of two writers that replace the same
 * version the earlier one in the stream wins, and a message that is late or stored twice changes nothing.
 *
 *   v1   v2 (A)   v2 (B: lost)   v3   v2 (B again: late)          the entry is v3, and followed on A's
 *
 * Clusters of NATS before 2.11 need this: they check what a writer expects when it is proposed, not when it is stored.
 *
 *   revision: the version, counted from 65,537 × 2^32, and 32 random bits by which a writer knows its own
 *
 * Entries from before versions were counted have 48 random bits there; each was the last message when it was written.
 */
import type { Entropy } from '../clock.js';
import { Malformed } from '../errors/malformed.js';
import type { StoredMessage } from '../log/jetStreamMessages.js';
import { forget, type StoredVaultEntry } from './vaultStore.js';

export const NO_REVISION = 0;
const RANDOM_BYTES = 4;
const VERSION_UNIT = 2 ** 32;
/** Entries from before versions were counted have less. */
const COUNTED_FROM = 2 ** 16;
const UNCOUNTED = 0;
/** A late replacement of an entry that is damaged now must not pass for the repair. */
const PAST_DAMAGE = 2;

/** An entry in the stream: still sealed, where it is. */
interface EntryMessage {
  readonly message: StoredMessage;
  readonly stored: StoredVaultEntry;
}

export interface CurrentEntry {
  /** Malformed where the newest message does not verify. */
  readonly newest: EntryMessage | Malformed;
  readonly version: number;
  /** Those of every entry that was current once. */
  readonly revisions: ReadonlySet<number>;
  readonly first: StoredMessage;
  readonly last: StoredMessage;
}

/** Overwrites the messages as they were read. Positions and revisions stay. */
export function forgetMessages({ newest, first, last }: CurrentEntry): void {
  for (const { bytes } of [first, last]) bytes.fill(0);
  if (!(newest instanceof Malformed)) newest.message.bytes.fill(0);
}

export function forgetCurrent(current: CurrentEntry): void {
  forgetMessages(current);
  if (!(current.newest instanceof Malformed)) forget(current.newest.stored);
}

/** From 1; 0 where it is not counted. */
const versionOf = (revision: number): number => Math.max(Math.floor(revision / VERSION_UNIT) - COUNTED_FROM, UNCOUNTED);

/** The revision of the current entry; `NO_REVISION` where there is none. */
export function revisionIn(current: CurrentEntry | undefined): number | 'damaged' {
  if (current === undefined) return NO_REVISION;
  return current.newest instanceof Malformed ? 'damaged' : current.newest.stored.revision;
}

/** The revision of an entry that replaces the current one. */
export function revisionAfter(current: CurrentEntry | undefined, entropy: Entropy): number {
  const step = current?.newest instanceof Malformed ? PAST_DAMAGE : 1;
  const version = COUNTED_FROM + (current?.version ?? UNCOUNTED) + step;
  return version * VERSION_UNIT + Buffer.from(entropy(RANDOM_BYTES)).readUInt32LE();
}

/** `messages`: all of one key, in the stream's order. `decode` throws Malformed. */
export function currentOf(
  messages: readonly [StoredMessage, ...StoredMessage[]],
  decode: (message: StoredMessage) => StoredVaultEntry,
): CurrentEntry {
  let newest: CurrentEntry['newest'] = new Malformed('it has no entry', 0);
  let highest = -1;
  const revisions = new Set<number>();
  for (const message of messages)
    try {
      const stored = decode(message);
      const version = versionOf(stored.revision);
      if (version < highest || (version === highest && version !== UNCOUNTED)) continue;
      newest = { message, stored };
      highest = version;
      revisions.add(stored.revision);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      newest = error;
    }
  return { newest, version: Math.max(highest, UNCOUNTED), revisions, first: messages[0], last: messages.at(-1)! };
}
