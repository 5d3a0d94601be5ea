// Covers: scripts/load/loader.ts, scripts/load/rejects.ts, scripts/load/progressFile.ts
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { unpack } from 'msgpackr';
import { Loader } from '../../../../scripts/load/loader.js';
import { readReached } from '../../../../scripts/load/progressFile.js';
import { assertRejectsFile, Rejects } from '../../../../scripts/load/rejects.js';
import type { Columns } from '../../../../scripts/load/row.js';
import { type Fields, type Source, USUAL } from '../../../../scripts/load/source.js';
import { type Packed, Refused, type ServiceClient } from '../../../../scripts/service/serviceClient.js';

const COLUMNS: Columns = {
  ...{ vector: undefined, text: undefined, tag: undefined, id: 'id' },
  ...{ metadata: 'rest', isNormalised: false, numbers: new Set<string>() },
};
const PROGRESS = { advance: () => {}, finish: () => {}, abandon: () => {} };

interface Body {
  readonly external_ids?: readonly string[];
  readonly texts?: readonly string[];
  readonly request_ids: readonly string[];
}

/** In-memory collection that takes upserts like the service. */
class Collection {
  readonly texts = new Map<string, string>();
  requests = 0;
  /** Callback for each request. */
  onRequest = (): void => {};
  /** Omits the id of the last row from the answer. */
  isForgetful = false;

  async ask(_method: string, path: string, body?: Packed): Promise<{ ids: number[] } | { checkpoint: string }> {
    if (path.startsWith('/v1/proof/checkpoint')) return { checkpoint: 'vouch checkpoint v1\np/c/1/0\n1\nroot\n' };
    const { bytes } = body!;
    this.requests += 1;
    this.onRequest();
    const { external_ids: ids = [], texts = [], request_ids: requestIds } = unpack(Buffer.from(bytes)) as Body;
    if (new Set(ids).size < ids.length) throw new Refused(400, '$.external_ids[1] appears twice');
    if (texts.includes('too long')) throw new Refused(400, '$.texts[0] is too long');
    for (const [i, id] of ids.entries()) this.texts.set(id, texts[i]!);
    return { ids: requestIds.map((_, i) => i + 1).slice(this.isForgetful ? 1 : 0) };
  }
}

/** A source that estimates the number of its rows by the part of it that is read. */
function sourceOf(rows: readonly Fields[]): Source {
  let readPart = 0;
  return {
    name: 'rows',
    usual: USUAL,
    expected: (read) => read / readPart,
    async *rows() {
      for (const [i, fields] of rows.entries()) {
        readPart = (i + 1) / rows.length;
        yield { number: i + 1, fields };
      }
    },
  };
}

describe('a load in batches', () => {
  let collection: Collection;
  let rejected: number[];
  beforeEach(() => {
    collection = new Collection();
    rejected = [];
  });

  const loaderOf = (rows: readonly Fields[], signal = new AbortController().signal, row = 0): Loader => {
    const rejects = { add: async (number: number) => void rejected.push(number) } as unknown as Rejects;
    const client = Object.assign(collection, { limited: 0 }) as unknown as ServiceClient;
    const place = {
      url: 'http://a',
      origin: 'p/c/1/0',
      source: 'rows',
      load: '',
      row,
      inserted: 0,
      rejected: 0,
      replaced: 0,
    };
    const options = {
      client,
      collection: 'c',
      dimension: 1,
      columns: COLUMNS,
      rejects,
      progressFile: undefined,
      signal,
    };
    return new Loader({ ...options, source: sourceOf(rows) }, place);
  };
  const rowsOf = (count: number, idOf: (row: number) => string): Fields[] =>
    Array.from({ length: count }, (_, i) => ({ vector: [1], id: idOf(i), text: `t${i}` }));

  it('sends no additional requests for repeated external ids, and stores the last row of each', async () => {
    await loaderOf(rowsOf(4_000, (row) => `a${row}`)).load(PROGRESS);
    const { requests } = collection;
    collection = new Collection();
    // Repeated next to each other, and across batches.
    const loader = loaderOf(rowsOf(4_000, (row) => (row % 4 < 2 ? `near${row >> 2}` : `far${row % 2_000}`)));
    expect(await loader.load(PROGRESS)).to.equal(true);
    expect(collection.requests).to.equal(requests);
    expect(collection.texts.get('near0')).to.equal('t1');
    expect(collection.texts.get('far2')).to.equal('t2002');
    expect(loader.reached).to.include({ row: 4_000, inserted: 4_000, rejected: 0 });
  });

  it('estimates the number of rows by those that it has read, of which some are in flight', async () => {
    const totals: (number | undefined)[] = [];
    const advance = (_count: number, total?: number): void => void totals.push(total && Math.round(total));
    await loaderOf(rowsOf(7_000, (row) => `id${row}`)).load({ ...PROGRESS, advance });
    expect(totals.slice(1)).to.deep.equal(Array.from({ length: 7 }, () => 7_000));
  });

  it('keeps the previous row of an external id if the service refuses the later one', async () => {
    const rows = rowsOf(8, (row) => `id${row >> 1}`).map((fields, i) =>
      i === 3 ? { ...fields, text: 'too long' } : fields,
    );
    const loader = loaderOf(rows);
    await loader.load(PROGRESS);
    expect(rejected).to.deep.equal([4]);
    expect(collection.texts.get('id1')).to.equal('t2');
    expect(loader.reached).to.include({ inserted: 7, rejected: 1 });
  });

  it('stops when interrupted while a batch is halved, and counts no row of that batch', async () => {
    const interrupted = new AbortController();
    const rows = rowsOf(500, (row) => `id${row}`).map((fields) => ({ ...fields, text: 'too long' }));
    collection.onRequest = () => {
      if (collection.requests === 3) interrupted.abort();
    };
    const loader = loaderOf(rows, interrupted.signal);
    expect(await loader.load(PROGRESS)).to.equal(false);
    expect(collection.requests).to.equal(3);
    expect(loader.reached).to.include({ row: 0, inserted: 0 });
  });

  it('fails if the service stores fewer rows than it was sent', async () => {
    collection.isForgetful = true;
    const error = await loaderOf(rowsOf(3, (row) => `id${row}`))
      .load(PROGRESS)
      .catch((failure: Error) => failure.message);
    expect(error).to.equal('the service took 2 of 3 rows, up to row 3');
  });

  it('fails if the source has fewer rows than were loaded before', async () => {
    const load = (before: number): Promise<unknown> =>
      loaderOf(
        rowsOf(3, (row) => `id${row}`),
        undefined,
        before,
      )
        .load(PROGRESS)
        .catch((failure: Error) => failure.message);
    expect(await load(3)).to.equal(true);
    expect(await load(4)).to.match(/^rows ends after row 3, and the rows up to 4 were loaded: remove /);
  });

  it('continues after a progress file of version 0.2, which has fewer fields', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-progress-'));
    try {
      const path = join(folder, 'progress');
      const before = { url: 'http://a', origin: 'p/c/1/0', source: 'rows', load: '', row: 2, inserted: 1, rejected: 1 };
      await writeFile(path, `${JSON.stringify(before)}\n`);
      expect(await readReached(path, 'rows')).to.deep.equal({ ...before, replaced: 0 });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('without a rejects file ends at the first row that does not fit', async () => {
    const rejects = await Rejects.open(undefined, 0);
    const error = await rejects.add(7, 'a reason').catch((failure: Error) => failure.message);
    expect(error).to.match(/^row 7: a reason; --rejects FILE writes such rows there/);
  });

  it('replaces only a file of rejected rows', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-rejects-'));
    try {
      const path = join(folder, 'rows.jsonl');
      const refusal = (): Promise<string | undefined> =>
        assertRejectsFile(path).then(
          () => undefined,
          (error: Error) => error.message,
        );
      expect(await refusal()).to.equal(undefined);
      for (const own of ['', '{"row":1,"reason":"it is no list"}\n{"row":2,']) {
        await writeFile(path, own);
        expect(await refusal()).to.equal(undefined);
      }
      for (const other of ['{"row":1,"vector":[1]}\n', 'row,reason\n']) {
        await writeFile(path, other);
        expect(await refusal()).to.match(/rows\.jsonl is not a file of rejected rows, and would be replaced/);
      }
      await rm(path);
      await symlink('/dev/null', path);
      expect(await refusal(), 'a device behind a link').to.match(/is not a file of rejected rows/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('writes each rejected row once, also after an interruption behind it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-rejects-'));
    try {
      const path = join(folder, 'rejects.jsonl');
      for (const [doneRow, rows] of [
        [0, [2, 5, 9]],
        [5, [9, 12]],
      ] as const) {
        const rejects = await Rejects.open(path, doneRow);
        for (const row of rows) await rejects.add(row, 'a reason');
        await rejects.close();
      }
      const lines = (await readFile(path, 'utf8')).trim().split('\n');
      expect(lines.map((line) => JSON.parse(line).row)).to.deep.equal([2, 5, 9, 12]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
