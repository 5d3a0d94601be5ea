/**
 * Signs the newest state of the service log, has witnesses cosign it, and publishes it: on the coordinator that writes the log.
 * A checkpoint waits a little for its cosignatures, so that a reader whose policy asks for them always finds them; a witness
 * that does not answer delays a checkpoint once, and gets the next one when it is back.
 *
 *   appended ──signed──▶ with the witnesses ──all have answered, or HOLD_BACK_MS──▶ published ──late cosignatures──▶ published
 *
 * Before it signs anything it asks the witnesses what they have seen, so that a log that was rolled back is not forked.
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
  type TreeHead,
  toBase64,
  treeHeadText,
  type VerifierKey,
} from '../../verifier/index.js';
import type { LogStore } from './logStore.js';
import type { Published, PublishedAs } from './published.js';
import { cosigners, hasQuorum } from './quorum.js';
import { WitnessClient } from './witnessClient.js';

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
  avoidedMs: number;
  avoidedUntilMs: number;
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
  /** Whether the witnesses were asked what they have seen, since this process leads. */
  #hasCompared = false;
  /** The published checkpoints that the log was found to go on from: the tree only grows. */
  readonly #continued = new Map<PublishedAs, string>();
  /** Checkpoints that are ahead of the log as it reads, by who has them. Nothing is signed before it has caught up. */
  readonly #ahead = new Map<string, { readonly head: TreeHead; readonly sinceMs: number }>();

  constructor(private readonly options: PublisherOptions) {
    const { policy, store } = options;
    const reachable = policy?.witnesses.filter(({ url }) => url !== undefined) ?? [];
    this.#witnesses = reachable.map((witness) => ({
      client: new WitnessClient(witness, store.tree),
      ...{ avoidedMs: 0, avoidedUntilMs: Number.NEGATIVE_INFINITY },
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
    if (!leads()) {
      this.#hasCompared = false;
      this.#continued.clear();
      this.#ahead.clear();
    }
    if (!leads() || key === undefined || this.#stalled !== undefined) return;
    try {
      for (const [has, { head }] of [...this.#ahead]) if (!(await this.#goesOn(head, has))) return;
      if (!this.#hasCompared && !(await this.#compareWithWitnesses(key.key))) return;
      for (const as of ['newest', 'witnessed'] as const) if (!(await this.#continues(as))) return;
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

  /** Whether the log goes on from what the witnesses have seen. One that is away is not waited for. */
  async #compareWithWitnesses(log: VerifierKey): Promise<boolean> {
    const signal = AbortSignal.timeout(HOLD_BACK_MS);
    const seen = await Promise.all(
      this.#witnesses.map(async ({ client }) => {
        const head = await client.seen(log, signal).catch(() => undefined);
        return head === undefined ? [] : [{ head, name: client.witness.name }];
      }),
    );
    for (const { head, name } of seen.flat()) if (!(await this.#goesOn(head, shownBy(name)))) return false;
    this.#hasCompared = true;
    return true;
  }

  /** Whether the log goes on from its published checkpoint, if there is one. */
  async #continues(as: PublishedAs): Promise<boolean> {
    const note = this.options.published.checkpoint(as)?.note;
    if (note === undefined || note === this.#continued.get(as)) return true;
    if (!(await this.#goesOn(parseTreeHead(parseNote(note).text), 'the log has published'))) return false;
    this.#continued.set(as, note);
    return true;
  }

  /**
   * Whether the log is one that goes on from this checkpoint of it. Otherwise it stalls: at once where the entries are others,
   * and where there are fewer as soon as no server can be behind that is asked for them. Throws `unavailable`, LogDamaged.
   */
  async #goesOn(head: TreeHead, has: string): Promise<boolean> {
    const { size, root } = head;
    const { store, clock } = this.options;
    const { tree } = store;
    // Another process may have written what is not read here yet.
    if (size > tree.size) await store.refresh();
    if (size > tree.size) {
      const { sinceMs } = this.#ahead.get(has) ?? { sinceMs: clock.monotonicMs() };
      this.#ahead.set(has, { head, sinceMs });
      if (clock.monotonicMs() - sinceMs >= store.staleMs)
        this.#stall(`${has} ${size} entries, and there are ${tree.size}`);
      return false;
    }
    this.#ahead.delete(has);
    if (toBase64(tree.root(size)) !== toBase64(root)) this.#stall(`${has} other entries among the first ${size}`);
    return this.#stalled === undefined;
  }

  #stall(reason: string): void {
    this.#stalled = reason;
    this.options.metrics.set('vouch_log_stalled', 1);
    this.options.logger.error(
      { reason },
      'the service log was rolled back or changed: nothing is signed or appended any more',
    );
  }

  /** Those of the witnesses that have not cosigned the note yet, and answer in time. */
  async #cosignatures(note: Note): Promise<NoteSignature[]> {
    const nowMs = this.options.clock.monotonicMs();
    const have = cosigners({ witnesses: this.options.policy?.witnesses ?? [] }, note);
    const asked = this.#witnesses.filter(
      ({ client, avoidedUntilMs }) => !have.has(client.witness.name) && nowMs >= avoidedUntilMs,
    );
    if (asked.length === 0) return [];
    const text = formatNote({ ...note, signatures: note.signatures.slice(0, 1) });
    const signal = AbortSignal.timeout(HOLD_BACK_MS);
    const answers = await Promise.all(asked.map((one) => this.#ask(one, text, signal)));
    return answers.filter((answer) => answer !== undefined);
  }

  async #ask(asked: Asked, note: string, signal: AbortSignal): Promise<NoteSignature | undefined> {
    const { metrics, logger, clock } = this.options;
    const witness = asked.client.witness.name;
    try {
      const answer = await asked.client.cosign(note, signal);
      if (answer.kind === 'contradicted') {
        await this.#judge(asked.client, signal);
        throw new Error(answer.reason);
      }
      if (asked.avoidedMs > 0) logger.info({ witness }, 'a witness cosigns again');
      asked.avoidedMs = 0;
      metrics.count('vouch_log_cosignatures_total', { witness, outcome: 'cosigned' });
      return answer.signature;
    } catch (error) {
      asked.avoidedMs = Math.min(Math.max(2 * asked.avoidedMs, FIRST_AVOIDED_MS), LONGEST_AVOIDED_MS);
      asked.avoidedUntilMs = clock.monotonicMs() + asked.avoidedMs;
      metrics.count('vouch_log_cosignatures_total', { witness, outcome: 'failed' });
      const reason = `${witness} at ${asked.client.witness.url}: ${reasonOf(error)}`;
      logger.warn({ witness, error: reason }, 'a witness did not cosign; it is asked again');
      return undefined;
    }
  }

  /** The word of a witness must not stop the log; another checkpoint with the signature of the log does. */
  async #judge(client: WitnessClient, signal: AbortSignal): Promise<void> {
    const seen = await client.seen(this.options.logKey()!.key, signal).catch(() => undefined);
    if (seen !== undefined) await this.#goesOn(seen, shownBy(client.witness.name));
  }
}

const shownBy = (witness: string): string => `the log has signed, as ${witness} shows,`;

/** The cause too, where the error itself only says that a request failed. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${codeOf(cause) ?? messageOf(cause)}`;
}
