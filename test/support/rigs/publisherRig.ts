/** The publisher of a service log, over servers that may be stale, and the witnesses it asks. */
import { generateKeyPairSync } from 'node:crypto';
import { deletionEntry } from '../../../coordinator/serviceLog/entry.js';
import { LogStore } from '../../../coordinator/serviceLog/logStore.js';
import { Published } from '../../../coordinator/serviceLog/published.js';
import { Publisher } from '../../../coordinator/serviceLog/publisher.js';
import { serveWitness } from '../../../scripts/witness/server.js';
import { Witness, type WitnessReply } from '../../../scripts/witness/witness.js';
import { MemoryBucket } from '../../../shared/bucket/memory.js';
import { type EventLog, SERVICE_LOG_ID } from '../../../shared/log/eventLog.js';
import { silentLogger } from '../../../shared/logger.js';
import { Metrics } from '../../../shared/metrics/metrics.js';
import { signerOf } from '../../../shared/signing/signer.js';
import {
  COSIGNATURE,
  ED25519,
  formatVerifierKey,
  type Policy,
  parseNote,
  parsePolicy,
  parseTreeHead,
  type VerifierKey,
  verifierKey,
} from '../../../verifier/index.js';
import { ScriptedLogs } from './scriptedLogs.js';

export const STALE_MS = 12_000;
const TIME_MS = 1_700_000_000_000;

export const entry = (i: number): Uint8Array => deletionEntry(i, i.toString(16).padStart(64, '0'), TIME_MS + i);

/** A log on servers that may be stale, and coordinators that publish it one after another. */
export class PublisherRig {
  readonly logs = new ScriptedLogs();
  readonly bucket: MemoryBucket;
  readonly published: Published;
  ms = 0;
  readonly #clock = { nowMs: () => TIME_MS + this.ms, monotonicMs: () => this.ms };
  readonly #signer = signerOf(generateKeyPairSync('ed25519').privateKey);
  readonly key = verifierKey('test', ED25519, this.#signer.publicKey);
  readonly #metrics = new Metrics('coordinator');
  policy: Policy | undefined;
  /** Sizes of all signed checkpoints. */
  readonly signed: number[] = [];

  constructor() {
    this.bucket = new MemoryBucket({ logger: silentLogger, clock: this.#clock });
    this.published = new Published(this.bucket);
  }

  /** A coordinator that has read the log and follows its publications. */
  async coordinator(): Promise<{ readonly store: LogStore; readonly publisher: Publisher }> {
    this.published.stop();
    await this.published.start();
    const opened = await this.logs.open(SERVICE_LOG_ID);
    const log: EventLog = { ...opened, staleMs: STALE_MS };
    const store = new LogStore(log, this.#clock, () => 0);
    await store.refresh();
    const publisher = new Publisher({
      ...{ store, published: this.published, policy: this.policy, leads: () => true },
      logKey: () => ({ key: this.key, signer: { ...this.#signer, sign: (text) => this.#sign(text) } }),
      ...{ metrics: this.#metrics, clock: this.#clock, logger: silentLogger },
    });
    return { store, publisher };
  }

  #sign(text: string): Uint8Array {
    this.signed.push(parseTreeHead(text).size);
    return this.#signer.sign(text);
  }

  /** Appends entries 1 to `count` and publishes them. */
  async publish(count: number): Promise<void> {
    const { store, publisher } = await this.coordinator();
    for (let i = 1; i <= count; i++) await store.append([entry(i)], Number.POSITIVE_INFINITY);
    await publisher.now();
  }

  /** Loses entries and published checkpoints; since then the log has grown to these entries. */
  async rollBackTo(entries: readonly number[]): Promise<{ readonly publisher: Publisher; readonly store: LogStore }> {
    this.logs.lose(SERVICE_LOG_ID, 0);
    await this.bucket.delete('newest');
    await this.bucket.delete('witnessed');
    this.signed.length = 0;
    const coordinator = await this.coordinator();
    for (const i of entries) await coordinator.store.append([entry(i)], Number.POSITIVE_INFINITY);
    return coordinator;
  }

  /** Runs rounds until the log is stalled, for the longest time that any witness is avoided. */
  async untilStalled(publisher: Publisher): Promise<string | undefined> {
    for (const endMs = this.ms + 10 * STALE_MS; this.ms < endMs && publisher.stalled === undefined; this.ms += 1_000)
      await publisher.now();
    return publisher.stalled;
  }

  get size(): number | undefined {
    return this.published.checkpoint('newest')?.size;
  }
}

/** Does what the standard demands of witnesses, and no more: it publishes no checkpoint. */
export class StandardWitness extends Witness {
  override checkpoint(): undefined {
    return undefined;
  }

  override async addCheckpoint(body: string): Promise<WitnessReply> {
    const reply = await super.addCheckpoint(body);
    const { size } = parseTreeHead(parseNote(body.slice(body.indexOf('\n\n') + 2)).text);
    const isFork = reply.status === 422 && body.startsWith(`old ${size}\n`);
    return isFork ? { status: 409, body: `${size}\n`, contentType: 'text/x.tlog.size' } : reply;
  }
}

/** A witness that can be unreachable, or slow. */
export class WitnessServer {
  readonly #witness: Witness;
  readonly #key: VerifierKey;
  #server: Awaited<ReturnType<typeof serveWitness>> | undefined;
  #port = 0;

  constructor(
    log: VerifierKey,
    readonly name = 'w1',
    kind: typeof Witness = Witness,
  ) {
    const signer = signerOf(generateKeyPairSync('ed25519').privateKey);
    this.#key = verifierKey(name, COSIGNATURE, signer.publicKey);
    const clock = { nowMs: () => TIME_MS, monotonicMs: () => 0 };
    this.#witness = new kind({
      ...{ key: this.#key, signer, logs: [log], seen: new Map(), save: async () => {}, clock, onRefused: () => {} },
    });
    const answer = this.#witness.addCheckpoint.bind(this.#witness);
    this.#witness.addCheckpoint = async (body) => {
      const reply = await answer(body);
      await this.beforeAnswer();
      return reply;
    };
  }

  beforeAnswer = async (): Promise<void> => {};

  async come(): Promise<void> {
    this.#server = await serveWitness(this.#witness, '127.0.0.1', this.#port);
    this.#port = Number(new URL(this.#server.url).port);
  }

  async go(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  get line(): string {
    return `witness ${this.name} ${formatVerifierKey(this.#key)} http://127.0.0.1:${this.#port}`;
  }
}

export const policyOf = (...lines: readonly string[]): Policy => parsePolicy([...lines, 'quorum none\n'].join('\n'));

/** Policy line of a witness whose key its server does not know. */
export function strangerAt(url: string, name = 'w1'): string {
  const { publicKey } = signerOf(generateKeyPairSync('ed25519').privateKey);
  return `witness ${name} ${formatVerifierKey(verifierKey(name, COSIGNATURE, publicKey))} ${url}`;
}
