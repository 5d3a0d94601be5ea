/**
 * A witness of transparency logs (c2sp.org/tlog-witness). For each log it keeps the newest checkpoint that it has cosigned, and
 * cosigns only checkpoints that continue it. A kept checkpoint is durable before the answer.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../shared/clock.js';
import { Mutex } from '../../shared/scheduling/mutex.js';
import type { Signer } from '../../shared/signing/signer.js';
import {
  cosignedText,
  EMPTY_ROOT,
  formatNote,
  formatSignature,
  fromBase64,
  isConsistent,
  isNoteSigned,
  type Note,
  parseNote,
  parseTreeHead,
  signaturesBy,
  type TreeHead,
  timedSignature,
  toBase64,
  type VerifierKey,
} from '../../verifier/index.js';
import { counted } from '../terminal/line.js';

/** Called with each checkpoint that the log has signed and that contradicts a seen one: `note` is evidence. */
export type RefusalListener = (reason: string, note: string) => void;

export interface WitnessParts {
  /** Key of type COSIGNATURE. */
  readonly key: VerifierKey;
  readonly signer: Signer;
  readonly logs: readonly VerifierKey[];
  /** Origin → the newest cosigned checkpoint. */
  readonly seen: ReadonlyMap<string, string>;
  readonly save: (seen: ReadonlyMap<string, string>) => Promise<void>;
  readonly clock: Clock;
  readonly onRefused: RefusalListener;
}

export interface WitnessReply {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

interface Submitted {
  readonly old: number;
  readonly proof: readonly Uint8Array[];
  readonly note: string;
}

const PROOF_LINES_MAX = 63;
const OLD = /^old (0|[1-9]\d{0,15})$/;
const NOTHING_SEEN: Omit<TreeHead, 'origin'> = { size: 0, root: EMPTY_ROOT };
const refusal = (status: number, why: string): WitnessReply => ({ status, body: `${why}\n` });

export class Witness {
  #seen: ReadonlyMap<string, string>;
  /** Makes comparing and replacing a kept checkpoint one step. */
  readonly #turns = new Mutex();

  constructor(private readonly parts: WitnessParts) {
    this.#seen = parts.seen;
  }

  /** The newest cosigned checkpoint of the log whose origin has this SHA-256, in hex. */
  checkpoint(originHash: string): string | undefined {
    const origin = [...this.#seen.keys()].find((one) => createHash('sha256').update(one).digest('hex') === originHash);
    return origin === undefined ? undefined : this.#seen.get(origin);
  }

  /** Answers a request `add-checkpoint`. */
  async addCheckpoint(body: string): Promise<WitnessReply> {
    let submitted: Submitted;
    let note: Note;
    let head: TreeHead;
    try {
      submitted = parseSubmitted(body);
      note = parseNote(submitted.note);
      head = parseTreeHead(note.text);
    } catch (error) {
      return refusal(400, (error as Error).message);
    }
    const log = this.parts.logs.find(({ name }) => name === head.origin);
    if (log === undefined) return refusal(404, 'this log is not known here');
    if (!isSignedBy(note, log)) return refusal(403, 'the checkpoint is not signed with the key of the log');
    if (submitted.old > head.size) return refusal(400, 'the old size is larger than the new one');
    return this.#turns.run(() => this.#judge(submitted, note, head, log));
  }

  async #judge(
    { old, proof, note: text }: Submitted,
    note: Note,
    head: TreeHead,
    log: VerifierKey,
  ): Promise<WitnessReply> {
    const kept = this.#seen.get(head.origin);
    const seen = kept === undefined ? NOTHING_SEEN : parseTreeHead(parseNote(kept).text);
    const isFork = head.size === seen.size && toBase64(head.root) !== toBase64(seen.root);
    const entries = `${head.origin}: ${counted(head.size, 'entry is', 'entries are')} offered`;
    if (head.size < seen.size) this.parts.onRefused(`${entries}, but ${seen.size} were seen before`, text);
    if (isFork) this.parts.onRefused(`${entries}, and they differ from those seen before`, text);
    if (old !== seen.size) return { status: 409, body: `${seen.size}\n`, contentType: 'text/x.tlog.size' };
    if (isFork || !isConsistent(seen, head, proof)) {
      if (!isFork) this.parts.onRefused(`${entries} that do not continue the ${seen.size} seen before`, text);
      return refusal(422, `the checkpoint does not continue the one of ${counted(seen.size, 'entry', 'entries')}`);
    }
    const signature = this.#cosigned(note.text);
    const signatures = [...signaturesBy(note, log).slice(0, 1), signature];
    const next = new Map(this.#seen).set(head.origin, formatNote({ text: note.text, signatures }));
    await this.parts.save(next);
    this.#seen = next;
    return { status: 200, body: formatSignature(signature) };
  }

  #cosigned(text: string): Note['signatures'][number] {
    const { key, signer, clock } = this.parts;
    const timeSecs = Math.floor(clock.nowMs() / 1000);
    return {
      name: key.name,
      keyId: key.id,
      bytes: timedSignature(timeSecs, signer.sign(cosignedText(text, timeSecs))),
    };
  }
}

function isSignedBy(note: Note, log: VerifierKey): boolean {
  try {
    return isNoteSigned(note, log);
  } catch {
    return false;
  }
}

/** Throws an Error. */
function parseSubmitted(body: string): Submitted {
  const end = body.indexOf('\n\n');
  if (end < 0) throw new Error('the checkpoint is missing; it follows an empty line');
  const [first = '', ...lines] = body.slice(0, end).split('\n');
  const old = OLD.exec(first)?.[1];
  if (old === undefined || !Number.isSafeInteger(Number(old))) throw new Error('the first line is not old <size>');
  if (lines.length > PROOF_LINES_MAX) throw new Error(`the proof has more than ${PROOF_LINES_MAX} hashes`);
  const proof = lines.map((line) => {
    const hash = fromBase64(line);
    if (hash?.length !== 32) throw new Error('a hash of the proof is not 32 bytes in base64');
    return hash;
  });
  return { old: Number(old), proof, note: body.slice(end + 2) };
}
