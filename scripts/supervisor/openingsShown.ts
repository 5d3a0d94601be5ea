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
  readonly key: string;
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
    const key = `${process} ${told.collection}`;
    if (told.msg.startsWith('opening a collection: reading')) this.#advance(key, told);
    else this.#end(key, told);
  }

  /** It has ended. */
  forget(process: string): void {
    if (this.#shown?.key.startsWith(`${process} `)) this.clear();
  }

  /** The terminal gets its last line back. */
  clear(): void {
    this.#shown?.progress.abandon();
    this.#shown = undefined;
  }

  #advance(key: string, { collection, records, sequence, of = 0 }: Told): void {
    const [done, unit] = records === undefined ? [sequence ?? 0, 'events'] : [records, 'records'];
    if (of === 0 || done > of) return;
    const unitKey = `${key} ${unit}`;
    // First its snapshot was read, and then the rest of its log.
    if (this.#shown !== undefined && this.#shown.key !== unitKey && this.#shown.key.startsWith(`${key} `)) this.clear();
    this.#shown ??= { key: unitKey, progress: showProgress(`collection ${collection}`, of, unit), done: 0 };
    if (this.#shown.key !== unitKey) return;
    this.#shown.progress.advance(done - this.#shown.done);
    this.#shown.done = done;
  }

  #end(key: string, { msg, collection, sequence, seconds: taken }: Told): void {
    if (this.#shown?.key.startsWith(`${key} `)) this.clear();
    if (msg !== 'opened a collection') return;
    say('done', `collection ${collection}`, `open with ${grouped(sequence ?? 0)} events (${seconds(taken * 1000)})`);
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
