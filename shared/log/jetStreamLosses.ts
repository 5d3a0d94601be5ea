/**
 * Detects losses of logs in JetStream. Only a purge takes frames from a stream, and raises the number of its missing messages. A
 * look costs one request for each stream. If that number has changed, as after a deletion of a collection, a second request
 * reads the counts of the subjects.
 */
import type { StreamInfo } from 'nats';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { isRefusal, JETSTREAM } from '../nats/natsError.js';
import { logPart, logStream, logStreamSubjects, logSubject } from '../transport/subjects.js';
import type { DoubtedLog, LogLosses, WatchedLog } from './eventLog.js';

/** Time before a missing stream counts as gone: a starting server may deny for a while that it exists. */
const GONE_AFTER_MS = 12_000;

interface SeenStream {
  /** Time when the stream was made, and number of its missing messages. */
  readonly created: string;
  readonly removed: number;
  readonly counts: Readonly<Record<string, number>>;
  /** Collection → messages that its opening had added at that look. */
  readonly added: ReadonlyMap<number, number>;
}

export class JetStreamLosses implements LogLosses {
  readonly #seen = new Map<string, SeenStream>();
  /** Missing stream → when it was first missed. */
  readonly #goneSinceMs = new Map<string, number>();

  constructor(
    private readonly connection: ClusterConnection,
    private readonly streams: number,
  ) {}

  async look(watched: readonly WatchedLog[]): Promise<DoubtedLog[]> {
    const parts: WatchedLog[][] = Array.from({ length: this.streams }, () => []);
    for (const log of watched) parts[logPart(log.collectionId, this.streams)]!.push(log);
    const doubts = await Promise.all(parts.map((logs, part) => (logs.length === 0 ? [] : this.#lookAt(part, logs))));
    return doubts.flat();
  }

  async #lookAt(part: number, logs: readonly WatchedLog[]): Promise<readonly DoubtedLog[]> {
    const stream = logStream(part);
    const before = this.#seen.get(stream);
    try {
      const info = await this.#info(stream);
      this.#goneSinceMs.delete(stream);
      if (before?.created === info.created && before.removed === removedFrom(info)) return [];
      // Messages added meanwhile count twice: then the log is read, which costs little.
      const added = new Map(logs.map((log) => [log.collectionId, log.added()]));
      const now = await this.#info(stream, logStreamSubjects(part));
      const counts = now.state.subjects ?? {};
      this.#seen.set(stream, { created: now.created, removed: removedFrom(now), counts, added });
      return logs.filter((log) => this.#isInDoubt(log, before, now)).map(doubted);
    } catch (error) {
      if (!isRefusal(error, JETSTREAM.streamNotFound)) throw error;
      return this.#isGone(stream) ? logs.map((log) => ({ ...doubted(log), loss: lossOf(stream) })) : [];
    }
  }

  #isInDoubt(log: WatchedLog, before: SeenStream | undefined, { state }: StreamInfo): boolean {
    const { collectionId, frames } = log;
    const subject = logSubject(collectionId, this.streams);
    const count = state.subjects?.[subject] ?? 0;
    const counted = before?.counts[subject] ?? 0;
    // The count of a log restarts with each opening.
    const added = Math.max(log.added() - (before?.added.get(collectionId) ?? 0), 0);
    const least = counted === 0 ? log.added() : counted + added;
    // At least 1, since only reading the log shows whether it should be empty.
    return count < Math.max(frames, least, 1);
  }

  #isGone(stream: string): boolean {
    const nowMs = this.connection.clock.monotonicMs();
    const sinceMs = this.#goneSinceMs.get(stream) ?? nowMs;
    this.#goneSinceMs.set(stream, sinceMs);
    return nowMs - sinceMs >= GONE_AFTER_MS;
  }

  #info(stream: string, subjects?: string): Promise<StreamInfo> {
    const { connection } = this;
    const options = subjects === undefined ? undefined : { subjects_filter: subjects };
    return connection.call(() => connection.jsm.streams.info(stream, options));
  }
}

const doubted = ({ collectionId }: WatchedLog): DoubtedLog => ({ collectionId, loss: undefined });
const lossOf = (stream: string): string => `JetStream has no stream ${stream}, which held it`;
const removedFrom = ({ state }: StreamInfo): number => state.last_seq - state.messages;
