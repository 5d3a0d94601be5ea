/** Asks one witness to cosign checkpoints, and for the size of the log that it has seen (c2sp.org/tlog-witness). */
import { createHash } from 'node:crypto';
import type { Clock } from '../../shared/clock.js';
import {
  type Cosignature,
  cosignatureBy,
  isNoteSigned,
  type NoteSignature,
  type PolicyWitness,
  parseNote,
  parseSignature,
  parseTreeHead,
  toBase64,
  type VerifierKey,
  wholeAnswer,
} from '../../verifier/index.js';
import type { ServiceTree } from './tree.js';

/** Longest answer read: a cosignature has a hundred bytes, a checkpoint with several some thousand. */
const ANSWER_BYTES_MAX = 64 * 1024;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const CONFLICT = 409;
const INCONSISTENT = 422;
const TOO_MANY = 429;
const FAILED = 500;
const SIZE = /^(0|[1-9]\d{0,15})\s*$/;

/** The part of the log that a witness has seen. */
export interface Seen {
  readonly size: number;
  /** The root, from a checkpoint that the log has signed; undefined if the witness reports only the size. */
  readonly root?: Uint8Array;
}

export type WitnessAnswer =
  | { readonly kind: 'cosigned'; readonly signature: NoteSignature; readonly cosignature: Cosignature }
  /** The witness has cosigned more entries than the offered checkpoint covers. */
  | { readonly kind: 'ahead'; readonly size: number }
  /** The witness has cosigned other entries among the first `size`. */
  | { readonly kind: 'other'; readonly size: number };

interface Answered {
  readonly status: number;
  readonly ok: boolean;
  readonly text: string;
}

export class WitnessClient {
  /** The last size that the witness has cosigned. If this is wrong, the witness answers with the right one. */
  #size = 0;

  constructor(
    readonly witness: PolicyWitness,
    private readonly tree: ServiceTree,
    private readonly clock: Clock,
  ) {}

  /**
   * Asks for the cosignature of a signed checkpoint of this tree, until `untilMs` of the monotonic clock. Throws an Error with
   * the witness's answer.
   */
  async cosign(note: string, untilMs: number): Promise<WitnessAnswer> {
    const { text } = parseNote(note);
    const { size } = parseTreeHead(text);
    // Two tries: the first answer may be the old size to send.
    for (let tries = 0; tries < 2 && this.#size <= size; tries++) {
      const old = this.#size;
      const answer = await this.#offer(note, old, size, untilMs);
      if (answer.status === INCONSISTENT) return { kind: 'other', size: old };
      if (answer.status === CONFLICT) {
        const known = sizeIn(answer);
        // The standard demands a 409 for two checkpoints of one size too.
        if (old === size && (known ?? size) === size) return { kind: 'other', size };
        if (known === undefined) throw new Error('its answer 409 has no size');
        this.#size = known;
        continue;
      }
      if (!answer.ok) throw refused(answer);
      const cosigned = this.#cosignature(text, answer.text);
      this.#size = size;
      return { kind: 'cosigned', ...cosigned };
    }
    if (this.#size > size) return { kind: 'ahead', size: this.#size };
    throw new Error('it answered two different sizes');
  }

  /**
   * Asks the witness how much of the log it has seen; undefined if its answer does not say. Throws an Error if the witness does
   * not answer, or cannot now. `probe`: any checkpoint that the log has signed.
   *
   * A witness need not show its checkpoint, but it must answer a wrong old size with the size that it has cosigned. A witness
   * that has cosigned nothing accepts the probe.
   */
  async seen(log: VerifierKey, probe: string, untilMs: number): Promise<Seen | undefined> {
    const halfMs = this.clock.monotonicMs() + this.#leftMs(untilMs) / 2;
    const shown = await this.shown(log, halfMs).catch(() => undefined);
    if (shown !== undefined) return shown;
    const { size } = parseTreeHead(parseNote(probe).text);
    const answer = await this.#offer(probe, 0, size, untilMs);
    if (answer.ok) {
      this.#size = size;
      return { size: 0 };
    }
    if (answer.status === TOO_MANY || answer.status >= FAILED) throw refused(answer);
    const known = answer.status === CONFLICT ? sizeIn(answer) : undefined;
    if (known === undefined) return undefined;
    this.#size = known;
    return { size: known };
  }

  /** The checkpoint that the witness shows, if the log has signed it. Not every witness shows one. Throws an Error. */
  async shown(log: VerifierKey, untilMs: number): Promise<Seen | undefined> {
    const origin = createHash('sha256').update(log.name).digest('hex');
    const { ok, text } = await this.#ask(`${origin}/checkpoint`, {}, untilMs);
    if (!ok) return undefined;
    const note = parseNote(text);
    return isNoteSigned(note, log) ? parseTreeHead(note.text) : undefined;
  }

  #offer(note: string, old: number, size: number, untilMs: number): Promise<Answered> {
    const proof = this.tree.consistency(old, size).map((hash) => `${toBase64(hash)}\n`);
    const body = `old ${old}\n${proof.join('')}\n${note}`;
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    return this.#ask('add-checkpoint', { method: 'POST', body, headers }, untilMs);
  }

  async #ask(path: string, request: RequestInit, untilMs: number): Promise<Answered> {
    const url = `${this.witness.url!.replace(/\/+$/, '')}/${path}`;
    const bounds = { withinMs: Math.round(this.#leftMs(untilMs)), maxBytes: ANSWER_BYTES_MAX };
    const { status, ok, bytes } = await wholeAnswer(url, { ...request, redirect: 'error' }, bounds);
    return { status, ok, text: Buffer.from(bytes).toString('utf8') };
  }

  #leftMs(untilMs: number): number {
    return Math.max(1, untilMs - this.clock.monotonicMs());
  }

  /** Cosignatures of unknown keys are ignored. */
  #cosignature(text: string, body: string): { signature: NoteSignature; cosignature: Cosignature } {
    const { key } = this.witness;
    const lines = body.split('\n').filter((line) => line !== '');
    for (const signature of lines.map(parseSignature)) {
      if (signature.name !== key.name || signature.keyId !== key.id) continue;
      const cosignature = cosignatureBy({ text, signatures: [signature] }, key);
      if (cosignature !== undefined) return { signature, cosignature };
    }
    throw new Error(`it answers without a cosignature of ${key.name}`);
  }
}

/** Explanations of refusals, added to the witness's text. */
const MEANINGS: Readonly<Record<number, string>> = {
  [FORBIDDEN]: 'it knows the log under another key',
  [NOT_FOUND]: 'it does not know the log, or its address in the policy is wrong',
};

function refused({ status, text }: Answered): Error {
  const meaning = MEANINGS[status];
  const message = text.trim().slice(0, 200);
  return new Error([`it answers ${status}`, ...(meaning === undefined ? [] : [meaning]), message].join(': '));
}

function sizeIn({ text }: Answered): number | undefined {
  const size = Number(SIZE.exec(text)?.[1]);
  return Number.isSafeInteger(size) ? size : undefined;
}
