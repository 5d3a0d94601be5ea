/**
 * Signs the newest state of the service log, has witnesses cosign it, and publishes it, on the coordinator that writes the log.
 * A checkpoint waits a little for its cosignatures, so that a reader whose policy requires them always finds them. A silent
 * witness delays one checkpoint. It gets the next one when it answers again.
 *
 * ```text
 * appended ──signed──▶ with the witnesses ──all have answered, or COSIGN_MS──▶ published ──late cosignatures──▶ published
 * ```
 *
 * Nothing is signed below the size that a witness of the policy has seen. Each witness is asked for its size before the first
 * signature, or as soon as it answers again. Later its answers to checkpoints contain the size.
 *
 * ```text
 * not asked ──answers──▶ compared ──larger size, other entries──▶ log stalled
 *     └──no answer──▶ avoided ──▶ not asked
 * ```
 */
import type { Clock } from '../../shared/clock.js';
import { counted } from '../../shared/errors/counted.js';
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
/** Longest wait for cosignatures; then a checkpoint is published without them. */
const COSIGN_MS = 2_000;
/** Pause after a witness's first failure; it doubles with each further one. */
const FIRST_AVOIDED_MS = 1_000;
const LONGEST_AVOIDED_MS = 30_000;

/** The key of the log, with its signer. */
export interface LogKey {
  readonly key: VerifierKey;
  readonly signer: Signer;
}

interface Asked {
  readonly client: WitnessClient;
  /** Whether the log was compared with the witness's view since this process leads. */
  isCompared: boolean;
  /** Why its last answer failed; undefined after a success. */
  failure: string | undefined;
  avoidedMs: number;
  avoidedUntilMs: number;
}

/** A part of the log that a witness or the log itself has signed. `has` begins a sentence with the party's name. */
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
  /** Published checkpoints that the log continues. They need no second check: the tree only grows. */
  readonly #continued = new Map<PublishedAs, string>();
  /** Party → its checkpoint that is ahead of this copy of the log. Nothing is signed before the copy has caught up. */
  readonly #ahead = new Map<string, { readonly seen: Seen; readonly sinceMs: number }>();

  constructor(private readonly options: PublisherOptions) {
    const { policy, store, clock } = options;
    const reachable = policy?.witnesses.filter(({ url }) => url !== undefined) ?? [];
    this.#witnesses = reachable.map((witness) => ({
      client: new WitnessClient(witness, store.tree, clock),
      ...{ isCompared: false, failure: undefined, avoidedMs: 0, avoidedUntilMs: Number.NEGATIVE_INFINITY },
    }));
  }

  /** Why nothing may be signed: the log is shorter than before, or has other entries. Undefined if signing is allowed. */
  get stalled(): string | undefined {
    return this.#stalled;
  }

  /** Whether entries are missing here: not read yet, or lost. */
  get isBehind(): boolean {
    return this.#ahead.size > 0;
  }

  /** Witnesses whose last answer failed, with the reasons. */
  get failing(): string[] {
    return this.#witnesses.flatMap(({ failure }) => failure ?? []);
  }

  start(): void {
    this.#rounds.start();
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Publishes the appended entries; resolves when that is done. */
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

  /** Whether the log continues every known checkpoint of it. */
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

  /** Whether the log continues the witnesses' views. Asks witnesses that were not compared yet, and skips those that fail. */
  async #compareWithWitnesses(key: LogKey): Promise<boolean> {
    const due = this.#due(({ isCompared }) => !isCompared);
    if (due.length === 0) return true;
    const probe = this.#probe(key);
    const untilMs = this.options.clock.monotonicMs() + COSIGN_MS;
    const claims = await Promise.all(due.map((asked) => this.#claimOf(asked, key.key, probe, untilMs)));
    // Checks every claim before it answers: each that is ahead must be recorded.
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

  /** The witness's view; an empty list if it does not answer. */
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
      this.#failed(asked, error, 'a witness did not report its size of the log; it is asked again');
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
   * Whether the log continues a state of it that was seen. Otherwise it stalls: at once if its entries differ; if it has fewer
   * entries, once no stale replica can be the cause. Throws `unavailable`, LogDamaged.
   */
  async #continuesFrom(seen: Seen, has: string): Promise<boolean> {
    const { size, root } = seen;
    const { store, clock } = this.options;
    const { tree } = store;
    if (size > tree.size) {
      // Note this before the refresh, so that it is noted even if the log cannot be read.
      const { sinceMs } = this.#ahead.get(has) ?? { sinceMs: clock.monotonicMs() };
      this.#ahead.set(has, { seen, sinceMs });
      // Another process may have written entries that are not read here yet.
      await store.refresh();
      if (size > tree.size && clock.monotonicMs() - sinceMs >= store.staleMs)
        this.#stall(`${has} ${counted(size, 'entry', 'entries')}, and there are ${tree.size}`);
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

  /** Witnesses to ask now. */
  #due(isDue: (asked: Asked) => boolean): Asked[] {
    const nowMs = this.options.clock.monotonicMs();
    return this.#witnesses.filter((asked) => nowMs >= asked.avoidedUntilMs && isDue(asked));
  }

  /** New cosignatures of the note, from witnesses that answer in time. */
  async #cosignatures(note: Note): Promise<NoteSignature[]> {
    const have = cosigners({ witnesses: this.options.policy?.witnesses ?? [] }, note);
    const due = this.#due(({ isCompared, client }) => isCompared && !have.has(client.witness.name));
    if (due.length === 0) return [];
    const text = onlySignedByLog(note);
    const untilMs = this.options.clock.monotonicMs() + COSIGN_MS;
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
   * Stalls the log if a witness contradicts it. A signed checkpoint that the witness shows counts more than its word. Returns
   * the witness's statement.
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
    if (kind === 'ahead')
      return `it has cosigned ${counted(size, 'entry', 'entries')}, and there are ${this.options.store.tree.size}`;
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

/** The error's text, with its cause: the error of a failed request says nothing else. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${codeOf(cause) ?? messageOf(cause)}`;
}
