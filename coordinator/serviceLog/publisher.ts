/**
 * Signs the newest state of the service log, has witnesses cosign it, and publishes it: on the coordinator that writes the log.
 * A checkpoint waits a little for its cosignatures, so that a reader whose policy asks for them always finds them; a witness
 * that does not answer delays a checkpoint once, and gets the next one when it is back.
 *
 *   appended ──signed──▶ with the witnesses ──all have answered, or HOLD_BACK_MS──▶ published ──late cosignatures──▶ published
 *
 * Nothing is signed below the size that a witness of the policy has seen. Each witness is asked for its size before the first
 * signature, or as soon as it answers again. Later its answers to checkpoints contain the size.
 *
 *   not asked ──answers──▶ compared ──larger size, other entries──▶ log stalled
 *       └──no answer──▶ avoided ──▶ not asked
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import { codeOf } from '../../shared/files/durable.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { Signer } from '../../shared/signing/signer.js';
import {
  formatNote,
  type Note,
  type NoteSignature,
  type Policy,
  parseNote,
  parseTreeHead,
  toBase64,
  treeHeadText,
  type VerifierKey,
} from '../../verifier/index.js';
import type { LogStore } from './logStore.js';
import type { Published, PublishedAs } from './published.js';
import { cosigners, hasQuorum } from './quorum.js';
import { type Seen, type WitnessAnswer, WitnessClient } from './witnessClient.js';

const ROUND_MS = 1_000;
/** The longest wait for cosignatures before a checkpoint is published without them. */
const HOLD_BACK_MS = 2_000;
/** A witness that failed is asked again after so long, and after twice as long each time. */
const FIRST_AVOIDED_MS = 1_000;
const LONGEST_AVOIDED_MS = 30_000;

/** The key of the log, as this process has it. */
export interface LogKey {
  readonly key: VerifierKey;
  readonly signer: Signer;
}

interface Asked {
  readonly client: WitnessClient;
  /** Whether it has answered what it has seen, since this process leads. */
  isCompared: boolean;
  /** Why it did not answer last; undefined if it did. */
  failure: string | undefined;
  avoidedMs: number;
  avoidedUntilMs: number;
}

/** A part of the log that was seen. `has` begins a sentence that says by whom. */
interface Claim {
  readonly has: string;
  readonly seen: Seen;
}

export interface PublisherOptions {
  readonly store: LogStore;
  readonly published: Published;
  readonly policy: Policy | undefined;
  readonly leads: () => boolean;
  /** Undefined while this process may not sign. */
  readonly logKey: () => LogKey | undefined;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Publisher {
  readonly #rounds = new PeriodicTask(() => this.#round(), ROUND_MS);
  readonly #witnesses: readonly Asked[];
  #stalled: string | undefined;
  /** The published checkpoints that the log was found to go on from: the tree only grows. */
  readonly #continued = new Map<PublishedAs, string>();
  /** Checkpoints that are ahead of the log as it reads, by who has them. Nothing is signed before it has caught up. */
  readonly #ahead = new Map<string, { readonly seen: Seen; readonly sinceMs: number }>();

  constructor(private readonly options: PublisherOptions) {
    const { policy, store, clock } = options;
    const reachable = policy?.witnesses.filter(({ url }) => url !== undefined) ?? [];
    this.#witnesses = reachable.map((witness) => ({
      client: new WitnessClient(witness, store.tree, clock),
      ...{ isCompared: false, failure: undefined, avoidedMs: 0, avoidedUntilMs: Number.NEGATIVE_INFINITY },
    }));
  }

  /** Why nothing may be signed: the log is shorter than, or another than, it was. Undefined if it may. */
  get stalled(): string | undefined {
    return this.#stalled;
  }

  /** Whether there may be entries that are not read yet, or are lost. */
  get isBehind(): boolean {
    return this.#ahead.size > 0;
  }

  /** Each witness that did not answer last, with the reason. */
  get failing(): string[] {
    return this.#witnesses.flatMap(({ failure }) => failure ?? []);
  }

  start(): void {
    this.#rounds.start();
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Publishes what was appended; resolves when that is done. */
  now(): Promise<void> {
    return this.#rounds.now();
  }

  async #round(): Promise<void> {
    const { leads, logKey, store, published, logger } = this.options;
    const key = logKey();
    if (!leads()) this.#forget();
    if (!leads() || key === undefined || this.#stalled !== undefined) return;
    try {
      if (!(await this.#maySign(key))) return;
      const newest = published.checkpoint('newest');
      const { size } = store.tree;
      if (size === 0) return;
      const isNew = newest === undefined || newest.size < size;
      if (!isNew && this.#witnesses.length === 0) return;
      const note = parseNote(isNew ? this.#signed(key, size) : newest.note);
      const more = await this.#cosignatures(note);
      if (!isNew && more.length === 0) return;
      if (this.#stalled === undefined && !this.isBehind && leads())
        await this.#publish({ ...note, signatures: [...note.signatures, ...more] });
    } catch (error) {
      logger.warn({ error: messageOf(error) }, 'the service log could not be published; the next round tries again');
    }
  }

  /** Forgets all comparisons, since another process may lead meanwhile. */
  #forget(): void {
    for (const asked of this.#witnesses) asked.isCompared = false;
    this.#continued.clear();
    this.#ahead.clear();
  }

  /** Whether the log continues everything that is known to have been signed of it. */
  async #maySign(key: LogKey): Promise<boolean> {
    for (const [has, { seen }] of [...this.#ahead]) if (!(await this.#continuesFrom(seen, has))) return false;
    for (const as of ['newest', 'witnessed'] as const) if (!(await this.#continues(as))) return false;
    return this.#compareWithWitnesses(key);
  }

  async #publish(note: Note): Promise<void> {
    const { published, policy } = this.options;
    const { size } = parseTreeHead(note.text);
    const value = { size, note: formatNote(note) };
    if (policy !== undefined && policy.quorum !== 'none' && hasQuorum(policy, note))
      await published.publish('witnessed', value);
    await published.publish('newest', value);
  }

  #signed({ key, signer }: LogKey, size: number): string {
    const text = treeHeadText({ origin: key.name, size, root: this.options.store.tree.root(size) });
    return formatNote({ text, signatures: [{ name: key.name, keyId: key.id, bytes: signer.sign(text) }] });
  }

  /** Whether the log continues what the witnesses have seen. Asks those that were not asked yet, and skips those that are away. */
  async #compareWithWitnesses(key: LogKey): Promise<boolean> {
    const due = this.#due(({ isCompared }) => !isCompared);
    if (due.length === 0) return true;
    const probe = this.#probe(key);
    const untilMs = this.options.clock.monotonicMs() + HOLD_BACK_MS;
    const claims = await Promise.all(due.map((asked) => this.#claimOf(asked, key.key, probe, untilMs)));
    // Handles all claims, so that none is forgotten while another is ahead.
    for (const { asked, claim } of claims.flat()) {
      if (claim !== undefined) await this.#continuesFrom(claim.seen, claim.has);
      asked.isCompared = true;
    }
    return this.#stalled === undefined && !this.isBehind;
  }

  /**
   * Returns a checkpoint to offer to a witness before anything is signed: the newest published one. Without one it makes a
   * checkpoint of no entries, which every log continues.
   */
  #probe(key: LogKey): string {
    const { published } = this.options;
    const note = (published.checkpoint('newest') ?? published.checkpoint('witnessed'))?.note;
    return note === undefined ? this.#signed(key, 0) : onlySignedByLog(parseNote(note));
  }

  /** Empty where the witness is away. */
  async #claimOf(
    asked: Asked,
    log: VerifierKey,
    probe: string,
    untilMs: number,
  ): Promise<{ readonly asked: Asked; readonly claim: Claim | undefined }[]> {
    try {
      const seen = await asked.client.seen(log, probe, untilMs);
      return [{ asked, claim: seen && claimOf(asked.client, seen) }];
    } catch (error) {
      this.#failed(asked, error, 'a witness did not say what it has seen; it is asked again');
      return [];
    }
  }

  /** Whether the log continues its published checkpoint, if there is one. */
  async #continues(as: PublishedAs): Promise<boolean> {
    const note = this.options.published.checkpoint(as)?.note;
    if (note === undefined || note === this.#continued.get(as)) return true;
    if (!(await this.#continuesFrom(parseTreeHead(parseNote(note).text), 'the log has published'))) return false;
    this.#continued.set(as, note);
    return true;
  }

  /**
   * Whether the log continues what was seen of it. Otherwise it stalls: at once if its entries differ; if it has fewer entries,
   * once they cannot be missing merely because a server lags. Throws `unavailable`, LogDamaged.
   */
  async #continuesFrom(seen: Seen, has: string): Promise<boolean> {
    const { size, root } = seen;
    const { store, clock } = this.options;
    const { tree } = store;
    if (size > tree.size) {
      // Set first, so that it is kept if the log cannot be read now.
      const { sinceMs } = this.#ahead.get(has) ?? { sinceMs: clock.monotonicMs() };
      this.#ahead.set(has, { seen, sinceMs });
      // Another process may have written what is not read here yet.
      await store.refresh();
      if (size > tree.size && clock.monotonicMs() - sinceMs >= store.staleMs)
        this.#stall(`${has} ${size} entries, and there are ${tree.size}`);
      if (size > tree.size) return false;
    }
    this.#ahead.delete(has);
    if (root !== undefined && toBase64(tree.root(size)) !== toBase64(root))
      this.#stall(`${has} other entries among the first ${size}`);
    return this.#stalled === undefined;
  }

  #stall(reason: string): void {
    if (this.#stalled !== undefined) return;
    this.#stalled = reason;
    this.options.logger.error(
      { reason },
      'the service log was rolled back or changed: nothing is signed or appended any more',
    );
  }

  /** Witnesses that are to be asked now. */
  #due(isDue: (asked: Asked) => boolean): Asked[] {
    const nowMs = this.options.clock.monotonicMs();
    return this.#witnesses.filter((asked) => nowMs >= asked.avoidedUntilMs && isDue(asked));
  }

  /** Cosignatures of the witnesses that have not cosigned the note yet, and answer in time. */
  async #cosignatures(note: Note): Promise<NoteSignature[]> {
    const have = cosigners({ witnesses: this.options.policy?.witnesses ?? [] }, note);
    const due = this.#due(({ isCompared, client }) => isCompared && !have.has(client.witness.name));
    if (due.length === 0) return [];
    const text = onlySignedByLog(note);
    const untilMs = this.options.clock.monotonicMs() + HOLD_BACK_MS;
    const answers = await Promise.all(due.map((asked) => this.#cosignature(asked, text, untilMs)));
    return answers.filter((answer) => answer !== undefined);
  }

  async #cosignature(asked: Asked, note: string, untilMs: number): Promise<NoteSignature | undefined> {
    const { metrics, logger } = this.options;
    const { client } = asked;
    const witness = client.witness.name;
    try {
      const answer = await client.cosign(note, untilMs);
      if (answer.kind !== 'cosigned') throw new Error(await this.#judge(client, answer, untilMs));
      if (asked.avoidedMs > 0) logger.info({ witness }, 'a witness cosigns again');
      asked.avoidedMs = 0;
      asked.failure = undefined;
      metrics.count('vouch_log_cosignatures_total', { witness, outcome: 'cosigned' });
      return answer.signature;
    } catch (error) {
      metrics.count('vouch_log_cosignatures_total', { witness, outcome: 'failed' });
      this.#failed(asked, error, 'a witness did not cosign; it is asked again');
      return undefined;
    }
  }

  #failed(asked: Asked, error: unknown, what: string): void {
    const { logger, clock } = this.options;
    const { name: witness, url } = asked.client.witness;
    asked.avoidedMs = Math.min(Math.max(2 * asked.avoidedMs, FIRST_AVOIDED_MS), LONGEST_AVOIDED_MS);
    asked.avoidedUntilMs = clock.monotonicMs() + asked.avoidedMs;
    asked.failure = `${witness} at ${url}: ${reasonOf(error)}`;
    logger.warn({ witness, error: asked.failure }, what);
  }

  /**
   * Stalls the log if a witness contradicts it. Prefers a checkpoint that the witness shows and the log has signed to the
   * witness's word. Returns what the witness says.
   */
  async #judge(
    client: WitnessClient,
    answer: Exclude<WitnessAnswer, { kind: 'cosigned' }>,
    untilMs: number,
  ): Promise<string> {
    const { kind, size } = answer;
    const shown = await client.shown(this.options.logKey()!.key, untilMs).catch(() => undefined);
    const { has, seen } = claimOf(client, shown !== undefined && shown.size >= size ? shown : { size });
    const continues = await this.#continuesFrom(seen, has);
    if (kind === 'ahead') return `it has cosigned ${size} entries, and there are ${this.options.store.tree.size}`;
    const other = `other entries among the first ${size}`;
    if (continues) this.#stall(`${has} ${other}`);
    return `it has cosigned ${other}`;
  }
}

const claimOf = ({ witness: { name } }: WitnessClient, seen: Seen): Claim => ({
  has: seen.root === undefined ? `${name} says that it has cosigned` : `the log has signed, as ${name} shows,`,
  seen,
});

const onlySignedByLog = (note: Note): string => formatNote({ ...note, signatures: note.signatures.slice(0, 1) });

/** The cause too, where the error itself only says that a request failed. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${codeOf(cause) ?? messageOf(cause)}`;
}
