/** Shows slow openings of collections, which shards log each second: a bar on a terminal, a few lines elsewhere. */
import { counted, say, seconds } from '../../terminal/line.js';
import { type Progress, showProgress } from '../../terminal/progress.js';

interface OpeningLine {
  readonly msg: string;
  readonly collection: number;
  readonly seconds: number;
  /** Records of its snapshot or events of its log that have been read, and their total. */
  readonly records?: number;
  readonly sequence?: number;
  readonly of?: number;
}

interface Shown {
  readonly process: string;
  readonly collection: number;
  /** The records of its snapshot are read first, then the events after it. */
  readonly unit: 'record' | 'event';
  readonly progress: Progress;
  done: number;
}

/** Shows only the first of several openings, since a terminal has one last line; reports the end of each. */
export class OpeningsShown {
  #shown: Shown | undefined;

  /** Takes any line that the process has logged. */
  see(process: string, line: string): void {
    const opening = openingIn(line);
    if (opening === undefined) return;
    if (opening.msg.startsWith('opening a collection: reading')) this.#advance(process, opening);
    else this.#end(process, opening);
  }

  /** Called when the process has ended. */
  forget(process: string): void {
    if (this.#shown?.process === process) this.clear();
  }

  /** Frees the terminal's last line. */
  clear(): void {
    this.#shown?.progress.abandon();
    this.#shown = undefined;
  }

  #advance(process: string, { collection, records, sequence = 0, of = 0 }: OpeningLine): void {
    const [done, unit] = records === undefined ? [sequence, 'event' as const] : [records, 'record' as const];
    if (of === 0 || done > of) return;
    if (this.#shows(process, collection) && this.#shown?.unit !== unit) this.clear();
    this.#shown ??= {
      ...{ process, collection, unit, done: 0 },
      progress: showProgress(`collection ${collection}`, of, [unit, `${unit}s`]),
    };
    if (!this.#shows(process, collection)) return;
    this.#shown.progress.advance(done - this.#shown.done);
    this.#shown.done = done;
  }

  #end(process: string, { msg, collection, sequence = 0, seconds: taken }: OpeningLine): void {
    if (this.#shows(process, collection)) this.clear();
    if (msg !== 'opened a collection') return;
    say('done', `collection ${collection}`, `open with ${counted(sequence, 'event')} (${seconds(taken * 1000)})`);
  }

  #shows(process: string, collection: number): boolean {
    return this.#shown?.process === process && this.#shown.collection === collection;
  }
}

function openingIn(line: string): OpeningLine | undefined {
  if (!line.startsWith('{') || !line.includes('"msg":"open')) return undefined;
  try {
    const parsed = JSON.parse(line) as OpeningLine;
    return /^open(?:ing|ed) a collection\b/.test(parsed.msg) && Number.isSafeInteger(parsed.collection)
      ? parsed
      : undefined;
  } catch {
    return undefined;
  }
}
