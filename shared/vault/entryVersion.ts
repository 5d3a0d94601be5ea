/**
 * Which of the messages of one key is its entry. An entry counts its versions, and whoever writes one has read that the
 * version before it stands. So **the entry is the first message of the highest version**: of two writers that replace the
 * same version the earlier in the stream has won, and what comes late, or was stored twice, changes nothing.
 *
 *   v1   v2 (A)   v2 (B: lost)   v3   v2 (B again: late)          the entry is v3, and followed on A's
 *
 * Several servers of NATS before 2.11 need that: they check what a writer expects when it is proposed, not when it is stored.
 *
 *   revision: the version, counted from 65,537 × 2^32, and 32 random bits by which a writer knows its own
 *
 * Entries that were written before versions were counted have 48 random bits there. Each of them stood last when it was written.
 */
import type { Entropy } from '../clock.js';
import type { StoredMessage } from '../log/jetStreamMessages.js';
import { Malformed } from '../malformed.js';
import { forget, type StoredVaultEntry } from './vaultStore.js';

export const NO_REVISION = 0;
const RANDOM_BYTES = 4;
const VERSION_UNIT = 2 ** 32;
/** What was written before versions were counted has less. */
const COUNTED_FROM = 2 ** 16;
const UNCOUNTED = 0;
/** One that was late to replace what is damaged now must not pass for what replaces it. */
const PAST_DAMAGE = 2;

/** An entry as it stands in the stream: still sealed, where it is. */
export interface EntryMessage {
  readonly message: StoredMessage;
  readonly stored: StoredVaultEntry;
}

/** What the messages of one key come to. */
export interface Standing {
  /** Malformed: what stands newest does not verify. */
  readonly newest: EntryMessage | Malformed;
  /** The highest there is. */
  readonly version: number;
  /** Of every entry that stood once. */
  readonly revisions: ReadonlySet<number>;
  readonly first: StoredMessage;
  readonly last: StoredMessage;
}

/** Overwrites the messages as they were read; nothing but positions and revisions is looked at any more. */
export function forgetMessages({ newest, first, last }: Standing): void {
  for (const { bytes } of [first, last]) bytes.fill(0);
  if (!(newest instanceof Malformed)) newest.message.bytes.fill(0);
}

/** As `forgetMessages`, and the entry that stood. */
export function forgetStanding(standing: Standing | undefined): void {
  if (standing === undefined) return;
  forgetMessages(standing);
  if (!(standing.newest instanceof Malformed)) forget(standing.newest.stored);
}

/** From 1; 0 for all that are not counted. */
const versionOf = (revision: number): number => Math.max(Math.floor(revision / VERSION_UNIT) - COUNTED_FROM, UNCOUNTED);

/** Of what stands; `NO_REVISION` where nothing does, `damaged` where it cannot be told. */
export function revisionIn(standing: Standing | undefined): number | 'damaged' {
  if (standing === undefined) return NO_REVISION;
  return standing.newest instanceof Malformed ? 'damaged' : standing.newest.stored.revision;
}

/** Of what is to replace what stands. */
export function revisionAfter(standing: Standing | undefined, entropy: Entropy): number {
  const step = standing?.newest instanceof Malformed ? PAST_DAMAGE : 1;
  const version = COUNTED_FROM + (standing?.version ?? UNCOUNTED) + step;
  return version * VERSION_UNIT + Buffer.from(entropy(RANDOM_BYTES)).readUInt32LE();
}

/** `messages`: all of one key, in the stream's order; at least one. `decode` throws Malformed. */
export function standingOf(
  messages: readonly [StoredMessage, ...StoredMessage[]],
  decode: (message: StoredMessage) => StoredVaultEntry,
): Standing {
  let newest: Standing['newest'] = new Malformed('it has no entry', 0);
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
