/** Keeps the history of a run, in memory for the checker and in a file for later reading. */
import type { LogFile } from '../../../scripts/local/supervisor/logFile.js';
import { type Call, isWrite } from '../history.js';

export class Recorder {
  readonly calls: Call[] = [];
  /** Latest start of an answered write and of an answered search, by collection. */
  readonly #answered = { write: new Map<string, number>(), search: new Map<string, number>() };

  /** `isServed`: whether the outcome shows that the collection is served. */
  constructor(
    private readonly file: Pick<LogFile, 'write'>,
    private readonly isServed = ({ outcome }: Call): boolean => outcome.kind === 'ok',
  ) {}

  add(call: Call): void {
    this.calls.push(call);
    this.file.write(JSON.stringify(call));
    if (!this.isServed(call)) return;
    const kind = isWrite(call) ? 'write' : call.op === 'search' ? 'search' : undefined;
    if (kind === undefined) return;
    const latest = this.#answered[kind].get(call.collection) ?? Number.NEGATIVE_INFINITY;
    this.#answered[kind].set(call.collection, Math.max(latest, call.startMs));
  }

  /** Collections without an answered write, or without an answered search, that began after `sinceMs`. */
  silentSince(collections: readonly string[], sinceMs: number): string[] {
    const isServed = (kind: 'write' | 'search', name: string): boolean =>
      (this.#answered[kind].get(name) ?? Number.NEGATIVE_INFINITY) >= sinceMs;
    return collections.filter((name) => !isServed('write', name) || !isServed('search', name));
  }
}
