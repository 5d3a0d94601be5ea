// Covers: shared/model/damage.ts
/**
 * Flips a bit in some bytes of every file of a small data folder, and cuts the file off at others. Nothing
 * wrong is served, damage is reported and left in place, and everything else is served. Files of collections are
 * damaged in many equal collections at once; one start covers all of these.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import type { Collection } from '../../coordinator/cluster/catalog/collection.js';
import { systemClock } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors/errors.js';
import { DAMAGES_REPORTED_MAX, type DamagedPart } from '../../shared/model/damage.js';
import type { ReadCall } from '../../shared/protocol/calls.js';
import { atLength } from '../support/atLength.js';
import { eventually } from '../support/expectations.js';
import { type SeededRandom, seededRandom, testSeed } from '../support/model/random.js';
import { ALIKE_KINDS, type Alike, AlikeFolder, type AlikeKind, ENCRYPTED_ID } from '../support/rigs/alikeFolder.js';
import { fixed } from '../support/rigs/engine.js';
import type { FolderService } from '../support/rigs/folderService.js';

/** Roughly proportional to the number of bytes to damage, so that all kinds need equally many starts. */
const COUNTS: Readonly<Record<AlikeKind, number>> = { replayed: 52, restored: 80, plain: 28 };
const RETRIES_MAX = 1_200;
const RETRY_MS = 50;

const WAYS = ['changed', 'cut off'] as const;
/** One of this many bytes is damaged in this way, in `npm test` and at length. */
const FEW = { changed: 40, 'cut off': 180 };
const MANY = { changed: 8, 'cut off': 36 };

interface Case {
  /** A file of a collection. */
  readonly file: number;
  readonly at: number;
  readonly way: (typeof WAYS)[number];
}

interface Hurt {
  readonly collection: Alike;
  readonly file: string;
  readonly bytes: Buffer;
  readonly what: string;
}

/** Part of the data that a file belongs to, by its folder. */
const PARTS: Readonly<Record<string, DamagedPart>> = {
  collections: 'log',
  snapshots: 'snapshot',
  indexes: 'index',
  vault: 'vault',
};
const partOf = (file: string): DamagedPart => PARTS[file.split('/')[0]!]!;
/** Whether the part cannot be rebuilt from another, so that its damage closes the collection. */
const closes = (part: DamagedPart): boolean => part === 'log' || part === 'vault';

const QUESTIONS: readonly ReadCall[] = [
  { op: 'search', query: fixed(0), k: 10, text: { query: 'one', hybrid: true } },
  { op: 'getEncrypted', id: ENCRYPTED_ID },
  { op: 'proofState' },
  { op: 'search', query: fixed(0), k: 10, asOf: { logIndex: 1 } },
  { op: 'proofReceipt', sequence: 1 },
  { op: 'readLog', from: 0, maxBytes: 1 << 20 },
];

/** Answers as texts; undefined if the collection is quarantined for that part, and names it. */
async function answersOf(
  service: FolderService,
  { name }: Alike,
  questions = QUESTIONS,
): Promise<(string | undefined)[]> {
  const collection = await service.find(name, name);
  return Promise.all(questions.map((question) => answerTo(service, collection, question)));
}

async function answerTo(
  service: FolderService,
  collection: Collection,
  question: ReadCall,
): Promise<string | undefined> {
  try {
    const answer = await retried(() => service.call(collection, question));
    return JSON.stringify(answer, (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    );
  } catch (error) {
    if (!(error instanceof VouchError)) throw error;
    if (error.code !== 'internal_error') return `${error.code}: ${error.message}`;
    expect(error.message).to.match(
      new RegExp(`^collection "${collection.name}" is quarantined, its stored (log|vault) does`),
    );
    return undefined;
  }
}

/** Repeats a call that is refused for too much work, like clients do. */
async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (let left = RETRIES_MAX; ; left--)
    try {
      return await ask();
    } catch (error) {
      // Here, without HTTP, such a refusal is just an error with this code.
      if (left === 0 || !(error instanceof VouchError) || error.code !== 'unavailable') throw error;
      await delay(RETRY_MS);
    }
}

const casesOf = (folder: AlikeFolder, pattern: Alike, random: SeededRandom, every: typeof MANY): Case[] =>
  folder
    .filesOf(pattern)
    .flatMap((path, file) =>
      Array.from(folder.contentOf(path)).flatMap((_, at) =>
        WAYS.filter((way) => random.int(every[way]) === 0).map((way) => ({ file, at, way })),
      ),
    );

describe('damage in a small data folder', function () {
  this.timeout(600_000);
  const random = seededRandom(testSeed());
  let folder: AlikeFolder;
  const good = new Map<number, readonly (string | undefined)[]>();

  before(async () => {
    folder = await AlikeFolder.make(COUNTS);
    const service = await folder.start();
    for (const collection of folder.collections) good.set(collection.id, await answersOf(service, collection));
    await service.stop();
    for (const answers of good.values()) expect(answers).not.to.include(undefined);
  });
  after(() => folder?.remove());

  const lengthsOf = (collection: Alike): number[] =>
    folder.filesOf(collection).map((file) => folder.contentOf(file).length);

  function hurt(collection: Alike, { file: number, at, way }: Case): Hurt {
    const file = folder.filesOf(collection)[number]!;
    const whole = folder.contentOf(file);
    const bytes = way === 'changed' ? Buffer.from(whole) : whole.subarray(0, at);
    if (way === 'changed') bytes[at]! ^= 1 << random.int(8);
    folder.write(file, bytes);
    return { collection, file, bytes, what: `${file} ${way} at ${at}` };
  }

  function expectRight(collection: Alike, answers: readonly (string | undefined)[], over?: Hurt): void {
    const mayRefuse = over !== undefined && closes(partOf(over.file));
    for (const [i, answer] of answers.entries())
      if (answer !== undefined || !mayRefuse)
        expect(answer, `${over?.what ?? collection.name}: ${QUESTIONS[i]!.op}`).to.equal(good.get(collection.id)![i]);
  }

  /** Asks all collections at once, like many clients. */
  async function ask(
    service: FolderService,
    hurts: ReadonlyMap<number, Hurt>,
    questions = QUESTIONS,
  ): Promise<ReadonlySet<number>> {
    const refused = new Set<number>();
    await Promise.all(
      folder.collections.map(async (collection) => {
        const answers = await answersOf(service, collection, questions);
        expectRight(collection, answers, hurts.get(collection.id));
        if (answers.every((answer) => answer === undefined)) refused.add(collection.id);
      }),
    );
    return refused;
  }

  async function expectReported(service: FolderService, hurts: readonly Hurt[]): Promise<void> {
    const expected: Partial<Record<DamagedPart, number>> = {};
    for (const { file } of hurts) expected[partOf(file)] = (expected[partOf(file)] ?? 0) + 1;
    const ids = hurts
      .map(({ collection, file }) => [collection.id, partOf(file)])
      .sort(([a], [b]) => Number(a) - Number(b));
    const listed = async (): Promise<string> =>
      JSON.stringify((await service.health()).damages.map(({ collectionId, part }) => [collectionId, part]));
    const first = JSON.stringify(ids.slice(0, DAMAGES_REPORTED_MAX));
    await eventually('the health names the first damage', async () => (await listed()) === first);
    const areCounted = async (): Promise<boolean> => isDeepStrictEqual(await service.damaged(), expected);
    await eventually('exactly this damage is counted', areCounted).catch(async (error: unknown) => {
      throw new Error(`${JSON.stringify(await service.damaged())}, not ${JSON.stringify(expected)}`, { cause: error });
    });
  }

  function expectKept({ file, bytes, what }: Hurt): void {
    const part = partOf(file);
    const aside = { snapshot: `${file}.damaged`, index: file.replace('/g1/', '/damaged-g1/') };
    const now = folder.now(part === 'snapshot' || part === 'index' ? aside[part] : file);
    expect(now?.equals(bytes), `${what}: the damaged bytes are gone`).to.equal(true);
  }

  async function round(hurts: readonly Hurt[]): Promise<void> {
    const byId = new Map(hurts.map((one) => [one.collection.id, one]));
    const service = await folder.start();
    try {
      await ask(service, byId);
      await expectReported(service, hurts);
      const refused = await ask(service, byId, QUESTIONS.slice(0, 1));
      for (const { collection, file, what } of hurts)
        expect(refused.has(collection.id), `${what}: refused`).to.equal(closes(partOf(file)));
    } finally {
      await service.stop();
    }
    for (const one of hurts) expectKept(one);
  }

  async function damageBytes(every: typeof MANY): Promise<void> {
    const startedMs = systemClock.monotonicMs();
    const waiting = new Map<AlikeKind, Case[]>();
    for (const kind of ALIKE_KINDS) {
      const [pattern, ...others] = folder.collections.filter((collection) => collection.kind === kind);
      for (const other of others) expect(lengthsOf(other), other.name).to.deep.equal(lengthsOf(pattern!));
      waiting.set(kind, casesOf(folder, pattern!, random, every));
    }
    // One collection of each kind stays whole.
    const toHurt = folder.collections.filter(({ kind }, i, all) => all[i + 1]?.kind === kind);
    let cases = 0;
    let starts = 0;
    for (;;) {
      const hurts = toHurt.flatMap((collection) => {
        const next = waiting.get(collection.kind)!.shift();
        return next === undefined ? [] : [hurt(collection, next)];
      });
      if (hurts.length === 0) break;
      await round(hurts);
      for (const { collection, file } of hurts) folder.restore(collection, file);
      cases += hurts.length;
      starts++;
    }
    console.log(
      `      ${cases} cases over ${starts} starts in ${Math.round(systemClock.monotonicMs() - startedMs)} ms`,
    );
  }

  const title = 'in logs, snapshots, saved indexes and vault entries closes only their collections and is reported';
  it(title, () => damageBytes(FEW));

  it(atLength(title), () => damageBytes(MANY));
});
