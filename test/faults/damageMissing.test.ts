/**
 * Removes a file or folder of a small data folder: some of them in turn, drawn. A lost thing is not mistaken for one
 * that never existed, unless nothing else mentions it. No other file is deleted because of it.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { markDeleted } from '../../coordinator/cluster/catalog/deletionMarks.js';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors/errors.js';
import type { ReadCall } from '../../shared/protocol/calls.js';
import { createKey } from '../../shared/registry/keys.js';
import { projectToHex } from '../../shared/vault/entryName.js';
import { atLength } from '../support/atLength.js';
import { eventually } from '../support/expectations.js';
import { drawnOneIn } from '../support/model/random.js';
import { AlikeFolder, ENCRYPTED_ID } from '../support/rigs/alikeFolder.js';
import { fixed } from '../support/rigs/engine.js';
import { FolderService } from '../support/rigs/folderService.js';

const QUESTIONS: readonly ReadCall[] = [
  { op: 'getEncrypted', id: ENCRYPTED_ID },
  { op: 'proofState' },
  { op: 'search', query: fixed(0), k: 10 },
  { op: 'search', query: fixed(0), k: 10, asOf: { logIndex: 1 } },
];

/** Outcome of a loss, for one collection. */
type Outcome = 'served' | 'log refused' | 'key missing' | 'not listed';

/** The first match counts. `id`: the affected collection; all of them without one. */
const OUTCOMES: readonly (readonly [RegExp, Outcome])[] = [
  [/^collections(\/(?<id>\d+)(\/.*)?)?$/, 'log refused'],
  [/^registry(\/vouch-catalog(\/c(?<id>\d+)\.c\d+\.json)?)?$/, 'not listed'],
  [/^master\.key$|^vault(\/(?<project>[0-9a-f]{10})(\/.*)?)?$/, 'key missing'],
];

describe('a data folder that has lost a file or a folder', () => {
  let folder: AlikeFolder;
  let base: string;
  let path: string;
  const good = new Map<number, readonly string[]>();

  before(async () => {
    folder = await AlikeFolder.make({ replayed: 1, restored: 1, plain: 1 });
    const service = await folder.start();
    for (const { id, name } of folder.collections) good.set(id, await answersOf(service, name));
    const keys = await service.platform.bucket(BUCKETS.keys);
    await createKey(keys, { project: 'p', scope: 'admin' }, systemClock, systemEntropy);
    await service.stop();
    base = mkdtempSync(join(tmpdir(), 'vouch-missing-'));
    path = join(base, 'data');
  });
  after(() => {
    folder?.remove();
    if (base !== undefined) rmSync(base, { recursive: true });
  });

  const answersOf = async (service: FolderService, name: string): Promise<string[]> => {
    const collection = await service.find(name, name);
    return Promise.all(QUESTIONS.map((question) => service.call(collection, question).then(textOf, refusalOf)));
  };

  /** Copies the folder without that entry. */
  function lose(lost: string): void {
    rmSync(path, { recursive: true, force: true });
    cpSync(folder.path, path, { recursive: true });
    rmSync(join(path, lost), { recursive: true });
  }

  async function outcomeFor(service: FolderService, { id, name }: { id: number; name: string }): Promise<Outcome> {
    const whole = good.get(id)!;
    let answers: readonly string[] = [];
    try {
      // Placement soon gives an owner to a collection that lacks one.
      await eventually(`${name} has an owner`, async () => {
        answers = await answersOf(service, name);
        return !answers.some((answer) => answer.startsWith('unavailable: no shard serves this'));
      });
    } catch (error) {
      expect(error, String(error)).to.be.instanceOf(VouchError);
      expect((error as VouchError).code).to.equal('collection_not_found');
      return 'not listed';
    }
    if (answers.every((answer) => /^internal_error: .* its stored log does not verify/.test(answer)))
      return 'log refused';
    expect(answers.slice(1)).to.deep.equal(whole.slice(1));
    if (answers[0] === whole[0]) return 'served';
    expect(answers[0]).to.match(/^internal_error: .*(which the vault does not have|does not have master key)/);
    return 'key missing';
  }

  function expectedFor(lost: string, { id, name, kind }: { id: number; name: string; kind: string }): Outcome {
    const fits = OUTCOMES.map(([pattern, outcome]) => ({ found: pattern.exec(lost), outcome }));
    const { found, outcome } = fits.find((one) => one.found !== null) ?? { found: null, outcome: 'served' as const };
    if (outcome === 'key missing' && kind === 'plain') return 'served';
    const { id: ofId, project } = found?.groups ?? {};
    const isOther =
      (ofId !== undefined && ofId !== String(id)) || (project !== undefined && project !== projectToHex(name));
    return isOther ? 'served' : outcome;
  }

  async function loseOneIn(count: number): Promise<void> {
    const all = entriesBelow(folder.path).filter((entry) => !/^lock|\.revisions-|^collections\/removed/.test(entry));
    const drawn = drawnOneIn(count, all);
    const counts: Record<string, number> = {};
    for (const lost of drawn) {
      lose(lost);
      const before = filesBelow(path);
      const service = await FolderService.start(path);
      try {
        for (const collection of folder.collections) {
          const outcome = await outcomeFor(service, collection);
          expect(outcome, `without ${lost}: ${collection.name}`).to.equal(expectedFor(lost, collection));
          counts[outcome] = (counts[outcome] ?? 0) + 1;
        }
        const refused = folder.collections
          .filter((one) => expectedFor(lost, one) === 'log refused')
          .map(({ id }) => id);
        const reported = async (): Promise<string> => {
          const { damages } = await service.health();
          return String(damages.filter(({ part }) => part === 'log').map(({ collectionId }) => collectionId));
        };
        await eventually(`without ${lost}: the loss is reported`, async () => (await reported()) === String(refused));
      } finally {
        await service.stop();
      }
      const now = new Set(filesBelow(path));
      expect(
        before.filter((entry) => !now.has(entry) && !mayGo(lost, entry)),
        `gone too without ${lost}`,
      ).to.deep.equal([]);
    }
    console.log(`      ${drawn.length} losses; outcomes over all collections:`, counts);
  }

  const title = 'reports what cannot be rebuilt, serves everything else, and deletes nothing more';
  it(title, () => loseOneIn(8));

  it(atLength(title), () => loseOneIn(2));

  it('leaves foreign files in place', async () => {
    rmSync(path, { recursive: true, force: true });
    cpSync(folder.path, path, { recursive: true });
    const folders = entriesBelow(path).filter((entry) => statSync(join(path, entry)).isDirectory());
    // `collections/removed` contains logs that are about to be deleted.
    const strays = folders
      .filter((entry) => entry !== 'collections/removed')
      .flatMap((entry) => ['stray', '0000000000000000.seg.torn-1', 'stray.tmp'].map((name) => join(entry, name)));
    for (const stray of strays) writeFileSync(join(path, stray), stray);
    const service = await FolderService.start(path);
    try {
      for (const collection of folder.collections) expect(await outcomeFor(service, collection)).to.equal('served');
      expect((await service.health()).damages).to.deep.equal([]);
    } finally {
      await service.stop();
    }
    for (const stray of strays) expect(readFileSync(join(path, stray), 'utf8')).to.equal(stray);
  });

  it('keeps the logs of a lost catalog, for an operator who restores it', async () => {
    lose('registry/vouch-catalog');
    const before = filesBelow(path);
    const service = await FolderService.start(path);
    const counters = await service.platform.bucket(BUCKETS.counters);
    // The sweep has finished when it has removed this mark.
    await markDeleted(counters, { id: 999, project: 'p', name: 'nothing' });
    await eventually('it was swept', async () => (await counters.get('deleted-999')) === undefined);
    await service.stop();
    const now = new Set(filesBelow(path));
    expect(before.filter((entry) => !now.has(entry) && !entry.includes('.revisions-'))).to.deep.equal([]);
    cpSync(join(folder.path, 'registry', 'vouch-catalog'), join(path, 'registry', 'vouch-catalog'), {
      recursive: true,
    });
    const again = await FolderService.start(path);
    for (const collection of folder.collections) expect(await outcomeFor(again, collection)).to.equal('served');
    await again.stop();
  });
});

/** Files that are lost with the entry, or rebuilt from the log. */
function mayGo(lost: string, entry: string): boolean {
  if (/\.revisions-/.test(entry)) return true;
  // An incomplete generation is not one: it is set aside, or counts as unfinished.
  if (lost.startsWith('indexes/') && entry.startsWith(lost.split('/').slice(0, 3).join('/'))) return true;
  // The owners of these files are no longer known.
  return /^registry(\/vouch-owners(\/.*)?)?$/.test(lost) && /^(?:indexes|snapshots)\//.test(entry);
}

/** Relative paths of files and folders. */
const entriesBelow = (path: string): string[] => (readdirSync(path, { recursive: true }) as string[]).sort();

const filesBelow = (path: string): string[] =>
  entriesBelow(path).filter((entry) => statSync(join(path, entry)).isFile());

const textOf = (answer: unknown): string => JSON.stringify(answer);

function refusalOf(error: unknown): string {
  if (!(error instanceof VouchError)) throw error;
  return `${error.code}: ${error.message}`;
}
