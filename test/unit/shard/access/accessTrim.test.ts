// Covers: shard/access/accessLog.ts
/** Removals from access logs in files and in messages, under restarts and owners that overlap. VOUCH_SEED replays the steps. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { AccessLog } from '../../../../shard/access/accessLog.js';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { overloaded } from '../../../../shared/errors/overloaded.js';
import { toHex } from '../../../../shared/hashing/hash.js';
import { AccessTree } from '../../../../shared/log/accessTree.js';
import type { EventLogs } from '../../../../shared/log/eventLog.js';
import { LocalLogs } from '../../../../shared/log/segments.js';
import type { AccessHead } from '../../../../shared/protocol/access.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const ID = 7;
const DAY_MS = 86_400_000;
const RETENTION_DAYS = 2;
const STEPS = 80;

class TrimmedLog {
  #day = 0;
  #log: AccessLog;
  #sent = 0;
  readonly #clock: Clock = { ...systemClock, nowMs: () => 1_800_000_000_000 + this.#day * DAY_MS };
  /** The tree of all entries, and its head after each of them. */
  readonly #tree = new AccessTree();
  readonly #heads: AccessHead[] = [];
  readonly #days: number[] = [];
  covered: AccessHead | undefined;

  constructor(private logs: EventLogs) {
    this.#log = this.#open();
  }

  #open(): AccessLog {
    const admission = { refusal: overloaded };
    return new AccessLog(ID, { logs: this.logs, admission, clock: this.#clock });
  }

  get #envelope() {
    return { requestId: 'r', deadlineMs: this.#clock.nowMs() + 5_000 };
  }

  nextDay(): void {
    this.#day += 1;
  }

  async add(count: number): Promise<void> {
    const from = this.#heads.length;
    const entry = () => JSON.stringify({ actor: { key_id: `k${this.#sent++}` }, kind: 'x'.repeat(200) });
    await Promise.all(
      Array.from({ length: count }, () => this.#log.add({ op: 'logAccess', entries: [entry()] }, this.#envelope)),
    );
    for (const text of await this.#entriesAfter(from)) {
      this.#tree.append(Buffer.from(text));
      const { size, chainHead } = this.#tree;
      this.#heads.push({ size, chainHead: toHex(chainHead), root: toHex(this.#tree.root()) });
      this.#days.push(this.#day);
    }
    expect(this.#heads.length - from).to.equal(count);
  }

  /** The service log covers all entries from now on. */
  cover(): void {
    this.covered = this.#heads.at(-1);
  }

  async trim(log = this.#log): Promise<number> {
    if (this.covered === undefined) return 0;
    return (await log.trim({ op: 'trimAccess', covered: this.covered }, RETENTION_DAYS, this.#envelope)).removed;
  }

  /** Another owner removes the beginning while this one reads. */
  async overlap(): Promise<void> {
    const other = this.#open();
    await Promise.all([this.#entriesAfter(0), this.trim(other), this.#entriesAfter(0), this.trim()]);
    await other.end(unavailable('moved'));
  }

  async restart(logs = this.logs): Promise<void> {
    await this.#log.end(unavailable('moved'));
    this.logs = logs;
    this.#log = this.#open();
  }

  /** Returns the number of removed entries, after a comparison of everything that is left. */
  async check(): Promise<number> {
    const { removed, head } = await this.#page(0, 1);
    const begin = removed?.size ?? 0;
    expect(head.size).to.equal(this.#heads.length);
    if (head.size > 0) expect(head).to.deep.equal(this.#heads.at(-1));
    if (removed !== undefined) expect(removed).to.deep.equal(this.#heads[begin - 1]);
    expect(begin).to.be.at.most(this.covered?.size ?? 0);
    for (const day of this.#days.slice(0, begin)) expect(day).to.be.below(this.#day - RETENTION_DAYS);
    const found = await this.#entriesAfter(begin);
    const numbers = found.map((text) => (JSON.parse(text) as { entry: number }).entry);
    expect(numbers).to.deep.equal(Array.from({ length: head.size - begin }, (_, i) => begin + i + 1));
    return begin;
  }

  #page(after: number, limit: number) {
    const span = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
    return this.#log.page({ op: 'accessPage', ...span, after, limit, maxBytes: 1e6 }, this.#envelope);
  }

  async #entriesAfter(after: number): Promise<string[]> {
    const found: string[] = [];
    for (let next: number | undefined = after; next !== undefined; ) {
      const page: Awaited<ReturnType<AccessLog['page']>> = await this.#page(next, 1_000);
      found.push(...page.entries);
      next = page.next;
    }
    return found;
  }
}

describe('the removal of old entries of an access log', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-trim-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const local = (): Promise<LocalLogs> => LocalLogs.open({ folder, segmentBytes: 1_500 });

  for (const kind of ['files', 'messages'] as const)
    it(`leaves a whole log in ${kind} under restarts and overlapping owners`, async () => {
      const random = seededRandom(testSeed());
      let files: LocalLogs | undefined = kind === 'files' ? await local() : undefined;
      const log = new TrimmedLog(files ?? new ScriptedLogs());
      let removed = 0;
      for (let step = 0; step < STEPS; step++) {
        const choice = random.int(8);
        if (choice < 3) await log.add(1 + random.int(8));
        else if (choice === 3) log.nextDay();
        else if (choice === 4) log.cover();
        else if (choice === 5) await log.trim();
        else if (choice === 6) await log.overlap();
        else if (files === undefined) await log.restart();
        else {
          const before = files;
          await log.restart(before);
          await before.close();
          files = await local();
          await log.restart(files);
        }
        const now = await log.check();
        expect(now).to.be.at.least(removed);
        removed = now;
      }
      expect(removed).to.be.above(0);
      await log.restart();
      await files?.close();
    });

  it('continues after kill -9 between the deletions of two segments', async () => {
    let files = await local();
    const log = new TrimmedLog(files);
    for (let day = 0; day < 6; day++) {
      await log.add(4);
      log.nextDay();
    }
    log.cover();
    await log.restart();
    await files.close();
    const segments = join(folder, String(ID), 'access');
    const [first] = (await readdir(segments)).sort();
    await rm(join(segments, first!));
    files = await local();
    await log.restart(files);
    expect(await log.check()).to.be.within(1, 4);
    await log.trim();
    expect(await log.check()).to.equal(16);
    await log.restart();
    await files.close();
  });
});
