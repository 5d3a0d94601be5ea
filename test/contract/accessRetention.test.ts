/** The field `access_retention_days` of a collection: how long the entries of its access log are kept. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { titleIn } from '../support/atLength.js';
import { answered, refused } from '../support/launch/answers.js';
import type { Answer, Client } from '../support/launch/client.js';
import { runAccessExport, succeeded } from '../support/launch/commands.js';
import { inBothModes } from '../support/launch/modes.js';
import { verify, withFolder } from '../support/launch/runVerify.js';
import { type Project, Service } from '../support/launch/service.js';
import { exported, imported } from '../support/rigs/backups.js';

const DAY_MS = 86_400_000;

/** Environment of a process whose clock is so many days behind. */
const behind = (days: number): { NODE_OPTIONS: string } => {
  const program = `const now = Date.now; Date.now = () => now() - ${days * DAY_MS};`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` };
};

inBothModes('access_retention_days', (service) => {
  let project: Project;
  const create = (name: string, more: object = {}, client: Client = project.rw): Promise<Answer> =>
    client.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2', ...more });
  const patch = (body: object, client: Client = project.admin): Promise<Answer> =>
    client.patch('/v1/namespaces/c', body);
  const listed = async (): Promise<object> => {
    const { audit_reads, access_retention_days } = answered(await project.ro.get('/v1/namespaces/c'));
    return { audit_reads, access_retention_days };
  };

  beforeEach(async () => {
    project = await service.newProject();
    answered(await create('c', { audit_reads: true, access_retention_days: 7 }));
  });

  it('is changed apart from audit_reads, each time by an event', async () => {
    expect(await listed()).to.deep.equal({ audit_reads: true, access_retention_days: 7 });
    expect(answered(await patch({ access_retention_days: 36_500 })).access_retention_days).to.equal(36_500);
    expect(answered(await patch({ audit_reads: 'full' })).access_retention_days).to.equal(36_500);
    expect(await listed()).to.deep.equal({ audit_reads: 'full', access_retention_days: 36_500 });
    answered(await patch({ access_retention_days: 36_500, audit_reads: 'full' }));
    expect(answered(await patch({ access_retention_days: null }))).not.to.have.property('access_retention_days');
    expect(answered(await patch({ audit_reads: false, access_retention_days: 1 })).access_retention_days).to.equal(1);
    expect(await listed()).to.deep.equal({ audit_reads: undefined, access_retention_days: 1 });
    const { events } = answered(await project.ro.get('/v1/timeline?collection=c'));
    expect(
      events.map((event: Record<string, unknown>) => [
        event.event_type,
        event.audit_reads,
        event.access_retention_days,
      ]),
    ).to.deep.equal([
      ['audit_reads', true, 7],
      ['audit_reads', true, 36_500],
      ['audit_reads', 'full', 36_500],
      ['audit_reads', 'full', null],
      ['audit_reads', false, 1],
    ]);
  });

  it('keeps both of two changes that are sent at once', async () => {
    for (const days of [3, 4, 5]) {
      const changes = [{ access_retention_days: days }, { audit_reads: days === 4 ? true : 'full' }];
      for (const answer of await Promise.all(changes.map((body) => patch(body)))) answered(answer);
      expect(await listed()).to.deep.equal({ audit_reads: days === 4 ? true : 'full', access_retention_days: days });
    }
  });

  it('is listed with audit_reads as the log has them after opposite changes at once', async () => {
    for (const last of [false, true, 'full', false, true]) {
      const wanted = [true, false, 'full', last];
      for (const answer of await Promise.all(wanted.map((audit_reads) => patch({ audit_reads })))) answered(answer);
      const { events } = answered(await project.ro.get('/v1/timeline?collection=c'));
      const { audit_reads = false } = answered(await project.ro.get('/v1/namespaces/c'));
      expect(audit_reads).to.equal(events.at(-1).audit_reads);
    }
  });

  it('takes only whole days from 1 to 36,500, from keys of scope admin', async () => {
    for (const days of [0, -1, 1.5, 36_501, '7', true, [7], {}]) {
      expect(refused(await patch({ access_retention_days: days }), 400, 'validation_error')).to.include(
        '$.access_retention_days',
      );
      expect(refused(await create('d', { access_retention_days: days }), 400, 'validation_error')).to.include(
        '$.access_retention_days',
      );
    }
    expect(refused(await patch({}), 400, 'validation_error')).to.include('$.access_retention_days');
    expect(refused(await patch({ access_retention_day: 7 }), 400, 'validation_error')).to.include(
      'access_retention_days',
    );
    refused(await patch({ access_retention_days: 1 }, project.rw), 403, 'forbidden');
    expect(refused(await create('c', { access_retention_days: 8 }), 409, 'conflict')).to.include(
      'exists with access_retention_days 7; PATCH /v1/namespaces/c changes it',
    );
    answered(await create('c'));
    expect(await listed()).to.deep.equal({ audit_reads: true, access_retention_days: 7 });
  });

  it('is kept by an import, whose first read is answered', async () => {
    answered(await project.rw.post('/v1/records', { collection: 'c', values: [1] }));
    const copy = await service.newProject();
    await imported(copy.admin, await exported(project.admin, 'c'), 'c');
    expect(answered(await copy.ro.get('/v1/namespaces/c'))).to.deep.include({
      audit_reads: true,
      access_retention_days: 7,
    });
    answered(await copy.ro.post('/v1/search', { collection: 'c', query: [1], k: 1 }));
    const { entries } = answered(await copy.admin.get('/v1/access?collection=c'));
    expect(entries).to.have.length(1);
    expect(entries[0]).to.have.property('request_hash');
  });
});

for (const mode of ['cluster', 'standalone'] as const)
  describe(titleIn(mode, 'the beginning of an access log', 'cluster'), () => {
    let service: Service;
    let project: Project;
    before(async () => {
      service = await Service.start(mode, behind(5));
      project = await service.newProject();
    });
    after(() => service?.stop());

    const page = (query = ''): Promise<Answer> => project.admin.get(`/v1/access?collection=c${query}`);
    const count = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) answered(await project.ro.get('/v1/records/count?collection=c'));
    };
    /** Kills all processes and starts them again with the present time. */
    const restart = async (): Promise<void> => {
      await Promise.all(service.processNames.map((name) => service.kill(name)));
      await Promise.all(service.processNames.map((name) => service.run(name, { NODE_OPTIONS: '' })));
      await service.untilShards(mode === 'cluster' ? 2 : 1);
    };

    it('is removed after access_retention_days and kill -9, and page, export, client and verify say so', async () => {
      const body = { name: 'c', dimension: 1, metric: 'squared_l2', audit_reads: true, access_retention_days: 2 };
      answered(await project.rw.post('/v1/namespaces', body));
      await count(3);
      const first = answered(await page());
      await count(2);
      const { chain_head, root } = answered(await page());
      answered(await project.admin.get('/v1/access/checkpoint?collection=c'));
      await restart();
      await service.until(async () => (await page()).status === 200);
      await count(2);
      expect(answered(await page())).not.to.have.property('removed');
      answered(await project.admin.get('/v1/access/checkpoint?collection=c'));
      // The next leader removes old entries soon after its start.
      await restart();
      await service.until(async () => (await page()).body?.removed !== undefined, { everyMs: 200 });
      const { entries, removed, size } = answered(await page());
      expect([entries.map(({ entry }: { entry: number }) => entry), size]).to.deep.equal([[6, 7], 7]);
      expect(removed).to.deep.equal({ entries: 5, chain_head, root });
      const removedText = 'entries 1 to 5 of the access log were removed: leave out after, or send after=5';
      expect(refused(await page('&after=4'), 410, 'entries_removed')).to.equal(removedText);
      expect(answered(await page('&after=5')).entries).to.have.length(2);
      expect(answered(await page('&to=2020-01-01T00:00:00Z')).entries).to.deep.equal([]);
      const piece = (from: string): Promise<Answer> => project.admin.get(`/v1/access/log?collection=c${from}`);
      expect(refused(await piece('&from=5'), 410, 'entries_removed')).to.include('from=6');
      expect((await piece('&from=6')).status).to.equal(200);
      await count(1);
      const newest = await project.admin.get('/v1/access/checkpoint?collection=c');
      await withFolder(async (folder) => {
        const [file, early, late] = ['copy', 'early.json', 'late.json'].map((name) => join(folder, name)) as [
          string,
          string,
          string,
        ];
        await succeeded(runAccessExport(service.url, project.admin, 'c', file));
        await writeFile(early, JSON.stringify(first));
        await writeFile(late, newest.text);
        const plain = await verify(['access', file]);
        expect([plain.code, plain.text]).to.deep.equal([0, plain.text]);
        expect(plain.text)
          .to.match(/from entry 6 on; 5 entries before it were removed/)
          .and.include(root)
          .and.match(/only the log itself states it/);
        const gone = await verify(['access', file, '--checkpoint', early]);
        expect([gone.code, gone.text]).to.deep.equal([1, gone.text]);
        expect(gone.text).to.match(/3 entries: the log has removed them/);
        expect((await verify(['access', file, '--checkpoint', early, '--checkpoint', late])).code).to.equal(0);
        const proven = await verify(['access', file, '--checkpoint', late]);
        expect([proven.code, proven.text]).to.deep.equal([0, proven.text]);
        expect(proven.text).to.match(/a checkpoint covers it/);
        if (mode === 'cluster') return;
        const stored = ['access', service.dataDir, '--collection', 'c', '--project', project.name];
        const { code, text } = await verify([...stored, '--checkpoint', late]);
        expect([code, text]).to.deep.equal([0, text]);
      });
    });
  });
