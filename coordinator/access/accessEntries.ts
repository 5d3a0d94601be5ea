/**
 * Sends entries of access logs to the owners of their collections, queued like writes. A call has the entries of one turn of the
 * event loop, or those that arrived while other calls were unanswered. So concurrent reads share a message and a commit.
 */
import { ACCESS_ENTRIES_MAX, ACCESS_ENTRY_CHARS_MAX } from '../../shared/protocol/access.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { MessageQueues } from '../cluster/calls/messageQueues.js';
import type { Collection } from '../cluster/catalog/collection.js';
import type { Backend } from '../cluster/clusterBackend.js';

/**
 * Number of unanswered calls at which further entries are collected. In a standalone node a call takes little longer than its commit,
 * so each call is a commit.
 */
const UNANSWERED_MAX = { standalone: 1, cluster: 3 } as const;

interface PendingEntry {
  readonly collection: Collection;
  readonly entry: string;
  readonly envelope: Envelope;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class AccessEntries {
  readonly #queues: MessageQueues<PendingEntry>;

  constructor(private readonly backend: Pick<Backend, 'call' | 'mode'>) {
    this.#queues = new MessageQueues(
      ({ calls }) => Promise.all(callsOf(calls).map((entries) => this.#send(entries))),
      UNANSWERED_MAX[backend.mode],
    );
  }

  /** Resolves when the entry, a JSON object without number and time, is durable. Throws like the call. */
  add(collection: Collection, entry: string, envelope: Envelope): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queues.push(collection.id, 'write', { collection, entry, envelope, resolve, reject });
    });
  }

  async #send(pending: readonly PendingEntry[]): Promise<void> {
    const { collection, envelope } = pending[0]!;
    const deadlineMs = Math.max(...pending.map((each) => each.envelope.deadlineMs));
    const entries = pending.map(({ entry }) => entry);
    try {
      await this.backend.call(collection, { op: 'logAccess', entries }, { ...envelope, deadlineMs });
      for (const { resolve } of pending) resolve();
    } catch (error) {
      for (const { reject } of pending) reject(error);
    }
  }
}

/** Divides the entries into calls within the limits of their number and length. */
function callsOf(pending: readonly PendingEntry[]): PendingEntry[][] {
  const calls: PendingEntry[][] = [];
  let chars = Number.POSITIVE_INFINITY;
  for (const each of pending) {
    chars += each.entry.length;
    if (chars > ACCESS_ENTRY_CHARS_MAX || calls.at(-1)!.length === ACCESS_ENTRIES_MAX) {
      calls.push([]);
      chars = each.entry.length;
    }
    calls.at(-1)!.push(each);
  }
  return calls;
}
