/** Compares a certificate of erasure with the events of a log. */
import { equal, fromHex, toHex } from './bytes.js';
import type { ErasedCollection, ErasedContent, Erasure } from './erasure.js';
import type { LogEvent } from './events.js';
import { contentHash } from './records.js';

type Shred = Pick<ErasedCollection['shred'], 'sequence' | 'timeMs'>;

export class ErasedEvents {
  readonly #key: Uint8Array;
  readonly #contents: Omit<ErasedContent, 'isInState'>[] = [];
  #shred: Shred | undefined;

  constructor({ keyId }: Pick<Erasure, 'keyId'>) {
    this.#key = fromHex(keyId);
  }

  /** Call it for every event of the log. */
  take(event: LogEvent): void {
    if (!('keyId' in event) || !equal(event.keyId, this.#key)) return;
    const { sequence, timeMs } = event;
    if (event.type === 'shred key') {
      this.#shred = { sequence, timeMs };
      return;
    }
    const commitment = event.type === 'insert encrypted' ? contentHash(event) : event.commitment;
    const type = event.type.replaceAll(' ', '_') as ErasedContent['type'];
    this.#contents.push({ sequence, timeMs, recordId: event.recordId, type, commitment: toHex(commitment) });
  }

  /** Reasons why the certificate's part about the collection is not of the log; empty if it names all events under the key. */
  problems(stated: Pick<ErasedCollection, 'shred' | 'contents'>): string[] {
    const problems: string[] = [];
    if (this.#shred?.sequence !== stated.shred.sequence || this.#shred.timeMs !== stated.shred.timeMs)
      problems.push(`event ${stated.shred.sequence} of the log does not shred the key`);
    const own = new Map(this.#contents.map((content) => [content.sequence, textOf(content)]));
    const wrong = stated.contents.find((content) => own.get(content.sequence) !== textOf(content));
    if (wrong !== undefined) problems.push(`event ${wrong.sequence} of the log is another one`);
    const named = new Set(stated.contents.map(({ sequence }) => sequence));
    const missing = this.#contents.find(({ sequence }) => !named.has(sequence));
    if (missing !== undefined) problems.push(`it does not name event ${missing.sequence}, which is under the key`);
    return problems;
  }
}

const textOf = ({ sequence, recordId, timeMs, type, commitment }: Omit<ErasedContent, 'isInState'>): string =>
  [sequence, recordId, timeMs, type, commitment].join(' ');
