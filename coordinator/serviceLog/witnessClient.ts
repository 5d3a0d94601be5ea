/** Asks one witness to cosign checkpoints (c2sp.org/tlog-witness). */
import { createHash } from 'node:crypto';
import {
  type Cosignature,
  cosignatureBy,
  isNoteSigned,
  type NoteSignature,
  type PolicyWitness,
  parseNote,
  parseSignature,
  parseTreeHead,
  type TreeHead,
  toBase64,
  type VerifierKey,
} from '../../verifier/index.js';
import type { ServiceTree } from './tree.js';

/** A cosignature is a hundred bytes; a checkpoint with those of others some thousand. */
const ANSWER_BYTES_MAX = 64 * 1024;
const CONFLICT = 409;
const INCONSISTENT = 422;
const SIZE = /^(0|[1-9]\d{0,15})\n$/;

export type WitnessAnswer =
  | { readonly kind: 'cosigned'; readonly signature: NoteSignature; readonly cosignature: Cosignature }
  /** The witness has seen more of this log than there is, or other entries. */
  | { readonly kind: 'contradicted'; readonly reason: string };

export class WitnessClient {
  /** The size that the witness has cosigned last; it says so where this is wrong. */
  #size = 0;

  constructor(
    readonly witness: PolicyWitness,
    private readonly tree: ServiceTree,
  ) {}

  /** Asks for the cosignature of a signed checkpoint of this tree. Throws an Error that says what the witness answered. */
  async cosign(note: string, signal: AbortSignal): Promise<WitnessAnswer> {
    const { text } = parseNote(note);
    const { size } = parseTreeHead(text);
    // Twice: the first answer may be the size to begin at.
    for (const isLast of [false, true]) {
      if (this.#size > size)
        return { kind: 'contradicted', reason: `it has cosigned ${this.#size} entries, and there are ${size}` };
      const response = await this.#post(note, size, signal);
      const body = await bodyOf(response);
      if (response.status === CONFLICT && !isLast) {
        const known = SIZE.exec(body)?.[1];
        if (known === undefined || !Number.isSafeInteger(Number(known))) throw new Error('it says no size in its 409');
        this.#size = Number(known);
        continue;
      }
      if (response.status === INCONSISTENT)
        return { kind: 'contradicted', reason: `it has other entries among the first ${this.#size}: ${shown(body)}` };
      if (!response.ok) throw new Error(`it answers ${response.status}: ${shown(body)}`);
      const answer = this.#cosignature(text, body);
      this.#size = size;
      return { kind: 'cosigned', ...answer };
    }
    throw new Error('it changes its mind about the size that it has seen');
  }

  /** The checkpoint that the witness has of the log, if the log has signed it. Throws an Error. */
  async seen(log: VerifierKey, signal: AbortSignal): Promise<TreeHead | undefined> {
    const origin = createHash('sha256').update(log.name).digest('hex');
    const response = await fetch(`${this.#url}/${origin}/checkpoint`, { signal, redirect: 'error' });
    const note = parseNote(await bodyOf(response));
    return response.ok && isNoteSigned(note, log) ? parseTreeHead(note.text) : undefined;
  }

  get #url(): string {
    return this.witness.url!.replace(/\/+$/, '');
  }

  #post(note: string, size: number, signal: AbortSignal): Promise<Response> {
    const proof = this.tree.consistency(this.#size, size).map((hash) => `${toBase64(hash)}\n`);
    const body = `old ${this.#size}\n${proof.join('')}\n${note}`;
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    return fetch(`${this.#url}/add-checkpoint`, { method: 'POST', body, headers, signal, redirect: 'error' });
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

const shown = (body: string): string => body.trim().slice(0, 200);

/** Throws an Error if it is too long for what a witness answers. */
async function bodyOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > ANSWER_BYTES_MAX) throw new Error('its answer is too long');
  }
  return Buffer.concat(chunks).toString('utf8');
}
