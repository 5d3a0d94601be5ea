/**
 * Judges the service log, as its stream receives it. The logs of the collections have the events that its entries name. The log
 * has the entries that a published checkpoint covers. A log that has lost entries is neither signed nor appended to.
 */
import { decodeFrame } from '../../../coordinator/serviceLog/frame.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import type { StoredCheckpoint } from '../../../shared/registry/serviceLog.js';
import { SERVICE_LOG_SUBJECT } from '../../../shared/transport/subjects.js';
import { toHex } from '../../../verifier/bytes.js';
import { type AccessLogEntry, parseEntry } from '../../../verifier/tlog/entry.js';
import { EMPTY_ROOT, Frontier, leafHash } from '../../../verifier/tlog/merkle.js';
import { parseNote } from '../../../verifier/tlog/note.js';
import { parseTreeHead, type TreeHead } from '../../../verifier/tlog/treeHead.js';
import type { Findings } from './findings.js';
import type { LogsJudge } from './logsJudge.js';

const CHECKPOINT = new RegExp(`^\\$KV\\.${BUCKETS.serviceLog}\\.(newest|witnessed)$`);

export class ServiceLogJudge {
  /** Root after each frame, by the number of entries. */
  readonly #roots = new Map<number, string>();
  /** The states of access logs that entries name. */
  readonly accessLogs: AccessLogEntry[] = [];
  #tree = new Frontier();
  /** Number of entries of the newest checkpoint. */
  #published = 0;
  /** Whether the remaining messages are being read again, in any order. */
  #isReading = false;
  isRolledBack = false;

  constructor(
    private readonly findings: Findings,
    private readonly logs: LogsJudge,
  ) {}

  stored(subject: string, body: Buffer): void {
    if (subject === SERVICE_LOG_SUBJECT) this.#grows(body);
    if (CHECKPOINT.test(subject) && body.length > 0) this.#publishes(JSON.parse(body.toString()) as StoredCheckpoint);
  }

  /** Whether the log has this root at this size. */
  holds({ size, root }: Pick<TreeHead, 'size' | 'root'>): boolean {
    return (size === 0 ? toHex(EMPTY_ROOT) : this.#roots.get(size)) === toHex(root);
  }

  /** Forgets everything, until `compare`. */
  forget(): void {
    this.#tree = new Frontier();
    this.#roots.clear();
    this.#published = 0;
    this.#isReading = true;
  }

  /** Compares log and checkpoint. Call it when all remaining messages were read. */
  compare(): void {
    this.#isReading = false;
    this.isRolledBack = this.#published > this.#tree.size;
  }

  #grows(body: Buffer): void {
    const { first, entries } = decodeFrame(body);
    const { size } = this.#tree;
    if (first > size) this.findings.add(`entry ${first} of the service log is stored, and ${size} is not`);
    if (first !== size) return;
    if (this.isRolledBack) this.findings.add(`entry ${first} is appended to a service log that was rolled back`);
    for (const entry of entries) {
      this.#tree.append(leafHash(entry));
      this.#names(entry);
    }
    this.#roots.set(this.#tree.size, toHex(this.#tree.root()));
  }

  #names(bytes: Uint8Array): void {
    const entry = parseEntry(bytes);
    if (entry.type === 'access log') this.accessLogs.push(entry);
    if (entry.type !== 'checkpoint' || this.logs.isLossKnown) return;
    const { collectionId, size, chainHead } = entry;
    if (!this.logs.holds(collectionId, size - 1, chainHead))
      this.findings.add(
        `the service log names event ${size - 1} of collection ${collectionId}, which its log does not hold`,
      );
  }

  #publishes({ note }: StoredCheckpoint): void {
    const { size, root } = parseTreeHead(parseNote(note).text);
    if (!this.#isReading) {
      if (size < this.#published)
        this.findings.add(`a checkpoint of ${size} entries follows one of ${this.#published}`);
      if (!this.holds({ size, root }))
        this.findings.add(`a checkpoint of ${size} entries is published, which the service log does not hold`);
    }
    this.#published = Math.max(this.#published, size);
  }
}
