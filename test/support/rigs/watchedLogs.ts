import type { EventLog, EventLogs, Position, StoredFrame } from '../../../shared/log/eventLog.js';
import { ScriptedLogs } from './scriptedLogs.js';

/** Counts reads of the logs, and can let them pass one by one. */
export class WatchedLogs implements EventLogs {
  readonly lateMs = 0;
  readonly stored = new ScriptedLogs();
  pass: Promise<void> = Promise.resolve();
  reads = 0;
  framesRead = 0;

  async open(collectionId: number): Promise<EventLog> {
    const log = await this.stored.open(collectionId);
    return { ...log, read: (after) => this.#read(log, after) };
  }

  remove(collectionId: number): Promise<void> {
    return this.stored.remove(collectionId);
  }

  async *#read(log: EventLog, after: Position): AsyncGenerator<StoredFrame> {
    this.reads++;
    for await (const frame of log.read(after)) {
      this.framesRead++;
      await this.pass;
      yield frame;
    }
  }
}
