/** Openings of collections that take long, out of what shards log of them each second: a bar on a terminal, a few lines elsewhere. */
import { grouped, say, seconds } from '../terminal/line.js';
import { type Progress, showProgress } from '../terminal/progress.js';

interface Told {
  readonly msg: string;
  readonly collection: number;
  readonly seconds: number;
  /** Of its snapshot that are read, or of its log up to where that is read; and of how many. */
  readonly records?: number;
  readonly sequence?: number;
  readonly of?: number;
}

interface Shown {
  readonly process: string;
  readonly collection: number;
  /** First the records of its snapshot are read, and then the events behind it. */
  readonly unit: 'records' | 'events';
  readonly progress: Progress;
  done: number;
}

/** A terminal has one last line: of several openings at a time the first is shown, and the end of each is told. */
export class OpeningsShown {
  #shown: Shown | undefined;

  /** A line that the process has logged, whatever it is about. */
  see(process: string, line: string): void {
    const told = toldIn(line);
    if (told === undefined) return;
    if (told.msg.startsWith('opening a collection: reading')) this.#advance(process, told);
    else this.#end(process, told);
  }

  /** It has ended. */
  forget(process: string): void {
    if (this.#shown?.process === process) this.clear();
  }

  /** The terminal gets its last line back. */
  clear(): void {
    this.#shown?.progress.abandon();
    this.#shown = undefined;
  }

  #advance(process: string, { collection, records, sequence = 0, of = 0 }: Told): void {
    const [done, unit] = records === undefined ? [sequence, 'events' as const] : [records, 'records' as const];
    if (of === 0 || done > of) return;
    if (this.#shows(process, collection) && this.#shown?.unit !== unit) this.clear();
    this.#shown ??= {
      ...{ process, collection, unit, done: 0 },
      progress: showProgress(`collection ${collection}`, of, unit),
    };
    if (!this.#shows(process, collection)) return;
    this.#shown.progress.advance(done - this.#shown.done);
    this.#shown.done = done;
  }

  #end(process: string, { msg, collection, sequence = 0, seconds: taken }: Told): void {
    if (this.#shows(process, collection)) this.clear();
    if (msg !== 'opened a collection') return;
    say('done', `collection ${collection}`, `open with ${grouped(sequence)} events (${seconds(taken * 1000)})`);
  }

  #shows(process: string, collection: number): boolean {
    return this.#shown?.process === process && this.#shown.collection === collection;
  }
}

function toldIn(line: string): Told | undefined {
  if (!line.startsWith('{') || !line.includes('"msg":"open')) return undefined;
  try {
    const told = JSON.parse(line) as Told;
    return /^open(?:ing|ed) a collection\b/.test(told.msg) && Number.isSafeInteger(told.collection) ? told : undefined;
  } catch {
    return undefined;
  }
}
