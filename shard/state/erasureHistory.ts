/**
 * The events of shreds, and those whose content under a key was replaced or deleted since. Certificates of erasure name
 * both.
 *
 * A snapshot of an earlier version lacks them. They are then read from the log, once one is asked for.
 */
const NO_KEY = '0'.repeat(32);

/** A fact about a key; `unknownUntil`: facts of the events up to this one may be missing. */
export interface ErasureFact {
  readonly kind: 'unknownUntil' | 'shred' | 'former';
  readonly sequence: number;
  readonly keyId: string;
}

export class ErasureHistory {
  /** The first event whose facts may be missing, and the last one; 0 if none is. */
  unknownFrom = 1;
  unknownUntil = 0;
  /** Key id → sequence of the event that shredded it. */
  readonly #shreds = new Map<string, number>();
  /** Key id → sequences of the events whose content was replaced or deleted since: 8 bytes each. */
  readonly #former = new Map<string, number[]>();

  /** Returns the sequence of the event that shredded the key. */
  shredOf(keyId: string): number | undefined {
    return this.#shreds.get(keyId);
  }

  formerUnder(keyId: string): readonly number[] {
    return this.#former.get(keyId) ?? [];
  }

  /** A `former` fact may be added twice. */
  add(kind: 'shred' | 'former', keyId: string, sequence: number): void {
    if (kind === 'shred') this.#shreds.set(keyId, sequence);
    else {
      const before = this.#former.get(keyId);
      if (before === undefined) this.#former.set(keyId, [sequence]);
      else before.push(sequence);
    }
  }

  /** Yields all facts for `restore`. */
  *all(): Generator<ErasureFact, void, undefined> {
    yield { kind: 'unknownUntil', sequence: this.unknownUntil, keyId: NO_KEY };
    for (const [keyId, sequence] of this.#shreds) yield { kind: 'shred', sequence, keyId };
    for (const [keyId, sequences] of this.#former)
      for (const sequence of sequences) yield { kind: 'former', sequence, keyId };
  }

  restore({ kind, sequence, keyId }: ErasureFact): void {
    if (kind === 'unknownUntil') this.unknownUntil = sequence;
    else this.add(kind, keyId, sequence);
  }
}
