/** The console in a real browser: what each screen shows and does. */
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import * as consolePage from '../support/consolePage.js';
import { findBrowser, NO_BROWSER, startBrowser } from '../support/launch/browser.js';
import type { Client } from '../support/launch/client.js';
import { type Project, Service } from '../support/launch/service.js';
import { seededRandom } from '../support/model/random.js';
import { skip } from '../support/skip.js';

/** Scripts for the page: one checks accessibility, one returns its findings, one text per rule. */
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const FINDINGS = `axe.run().then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ')))`;
const RECORDS = 240;
const DIMENSION = 16;
const KINDS = ['sea', 'wood', 'rock'];
const WIDE = { width: 1_200, height: 900 };
const PHONE = { width: 390, height: 800 };
/** Folder for pictures of the screens; most runs make none. */
const { VOUCH_PICTURES: PICTURES } = process.env;
const PICTURED_MS = 15_000;

describe('the console', () => {
  let browser: Browser;
  let service: Service;
  let project: Project;
  let context: BrowserContext;
  let page: Page;
  const problems: string[] = [];
  const strangers: string[] = [];

  before(async function () {
    const path = findBrowser();
    if (path === undefined) return skip(this, NO_BROWSER);
    [browser, service] = await Promise.all([startBrowser(path), Service.start('cluster')]);
    project = await service.newProject();
    await fill(project.rw, 'places');
    context = await browser.newContext({ viewport: WIDE });
    page = await context.newPage();
    watch(page);
    await signIn(page, project.admin);
  });

  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  function watch(opened: Page): void {
    opened.on('console', (message) => {
      const problem = `${message.text()} ${message.location().url}`;
      // The page requests an index until the list shows that its collection is gone.
      if (message.type() === 'error' && !problem.endsWith('/namespaces/short/index')) problems.push(problem);
    });
    opened.on('pageerror', (error) => problems.push(error.message));
    opened.on('request', (request) => {
      if (!request.url().startsWith(service.url)) strangers.push(request.url());
    });
  }

  const signIn = (opened: Page, { key }: Client, url = service.url) => consolePage.signIn(opened, url, key!);
  const open = (hash: string) => consolePage.openScreen(page, service.url, hash);
  const rowsOf = (table: string) => consolePage.rowsOf(page, table);
  /** Opens each screen, filled with its content. */
  const screens: Readonly<Record<string, () => Promise<void>>> = {
    collections: async () => {
      await open('collections');
      await rowsOf('Collections').nth(1).waitFor();
    },
    records: async () => {
      await open('records/places');
      await rowsOf('Records').nth(49).waitFor();
    },
    search: async () => {
      await open('search/places/5');
      await page.getByLabel('Compare with').check();
      await page.getByRole('group', { name: 'Search B' }).getByRole('slider').fill('120');
      await page.getByText('in the state after event 120').waitFor();
    },
    map: async () => {
      await open('map/places');
      await page.getByLabel('Colour by').selectOption('kind');
    },
    audit: async () => {
      await open('audit/sealed');
      await page.getByRole('button', { name: /^Verify these/ }).click();
      await page.getByText('verified', { exact: true }).nth(3).waitFor();
    },
    cluster: async () => {
      await open('cluster');
      await rowsOf('Shards').nth(1).waitFor();
      // The chart has its first line.
      if (PICTURES !== undefined) await page.waitForTimeout(PICTURED_MS);
    },
    keys: async () => {
      await open('keys');
      await rowsOf('API keys').nth(3).waitFor();
    },
  };
  const firstCells = (table: string): Promise<string[]> => rowsOf(table).locator('th').allInnerTexts();

  it('keeps a key only in the tab, and refuses a wrong one', async () => {
    const other = await context.newPage();
    await consolePage.enterKey(other, service.url, 'vk_wrong');
    expect(await other.getByRole('alert').textContent()).to.match(/key/);
    await other.close();
    const stored = await page.evaluate<string>('JSON.stringify([localStorage, document.cookie])');
    expect(stored).not.to.include(project.admin.key);
    await page.reload();
    await page.getByRole('navigation').waitFor();
    // The browser also reports the refusal of the wrong key.
    problems.length = 0;
  });

  it('creates a collection, builds its index, and deletes it once its name is typed', async () => {
    await open('collections');
    await page.getByRole('button', { name: 'New collection' }).click();
    const typed = { Name: 'short', Dimension: '3', 'Life of records': '3600' };
    for (const [label, text] of Object.entries(typed)) await page.getByLabel(label).fill(text);
    const chosen = { Distance: 'cosine', 'Words of texts': 'english', Erasure: 'keys', Index: 'brute' };
    for (const [label, option] of Object.entries(chosen)) await page.getByLabel(label).selectOption(option);
    await page.getByRole('button', { name: 'Create collection' }).click();
    const row = rowsOf('Collections').filter({ hasText: 'short' });
    for (const badge of ['cosine', 'English', 'expire after 3,600 s', 'erasable']) await row.getByText(badge).waitFor();
    await row.getByRole('button', { name: 'Change index' }).click();
    await page.getByLabel('Kind').selectOption('hnsw');
    await page.getByRole('button', { name: 'Build index' }).click();
    await row.getByText('hnsw').waitFor();
    await row.getByRole('button', { name: 'Delete' }).click();
    expect(await page.getByRole('button', { name: 'Delete collection' }).isDisabled()).to.equal(true);
    await page.getByLabel('Type the name').fill('short');
    await page.getByRole('button', { name: 'Delete collection' }).click();
    await row.waitFor({ state: 'detached' });
    expect((await project.rw.get('/v1/namespaces')).text).not.to.include('"short"');
  });

  it('shows records page by page, filters them, and opens, edits and deletes one', async () => {
    await open('records/places');
    await rowsOf('Records').nth(49).waitFor();
    expect(await firstCells('Records')).to.deep.equal(Array.from({ length: 50 }, (_, i) => String(i + 1)));
    await page.getByRole('button', { name: 'Next page' }).click();
    await rowsOf('Records').filter({ hasText: 'place 51' }).waitFor();
    await page.getByLabel('Filter').fill('{"n": {"gte": 238}}');
    await page.getByRole('button', { name: 'Apply filter' }).click();
    await rowsOf('Records').nth(3).waitFor({ state: 'detached' });
    expect(await firstCells('Records')).to.deep.equal(['238', '239', '240']);
    await page.getByRole('link', { name: '239' }).click();
    await page.getByRole('dialog').getByLabel('Metadata').fill('{"n": 239, "kind": "edited"}');
    await page.getByRole('button', { name: 'Save metadata' }).click();
    await rowsOf('Records').filter({ hasText: 'edited' }).waitFor();
    expect((await project.rw.get('/v1/records/239?collection=places')).body.metadata).to.deep.equal({
      kind: 'edited',
      n: 239,
    });
    await page.getByRole('link', { name: '240' }).click();
    await page.getByRole('button', { name: 'Delete …', exact: true }).click();
    await page.getByRole('button', { name: 'Delete record' }).click();
    await rowsOf('Records').filter({ hasText: '240' }).waitFor({ state: 'detached' });
    expect((await project.rw.get('/v1/records/240?collection=places')).status).to.equal(404);
  });

  it('searches near a record, with conditions, and in any past state', async () => {
    await open('search/places/5');
    await rowsOf('Hits: Search').nth(9).waitFor();
    const near = (await project.ro.post('/v1/search', { collection: 'places', like: 5, k: 10 })).body.results;
    expect(await firstCells('Hits: Search')).to.deep.equal(near.map(({ id }: { id: number }) => String(id)));
    await page.getByRole('button', { name: 'Add a condition' }).click();
    for (const [key, value, shown] of [
      ['', 'sea', 'A condition has a value and no key'],
      ['kind', '1e400', 'A number is too large to be exact'],
    ] as const) {
      await page.getByLabel('Key 1').fill(key);
      await page.getByLabel('Value 1').fill(value);
      await page.getByText(shown).first().waitFor();
    }
    await page.getByLabel('Value 1').fill('sea');
    await page.getByText('A number is').waitFor({ state: 'detached' });
    await page.getByText('wood').first().waitFor({ state: 'detached' });
    const filtered = { collection: 'places', like: 5, k: 10, metadata_filter: { kind: 'sea' } };
    const found = (await project.ro.post('/v1/search', filtered)).body.results;
    expect(await firstCells('Hits: Search')).to.deep.equal(found.map(({ id }: { id: number }) => String(id)));
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByLabel('Compare with').check();
    await page.getByRole('region', { name: 'Hits: Search B', exact: true }).waitFor();
    const { event_count } = (await project.ro.get('/v1/proof/event-log?collection=places')).body;
    const now = page.getByRole('slider').first();
    expect([await now.inputValue(), await now.getAttribute('max')]).to.deep.equal([
      String(event_count),
      String(event_count),
    ]);
    await page.getByText(/Both searches found 10 records/).waitFor();
    const moment = page.getByRole('group', { name: 'Search B' }).getByRole('slider');
    await moment.fill('20');
    await page.getByText('in the state after event 20').waitFor();
    const past = await project.ro.post('/v1/search', { collection: 'places', like: 5, k: 10, as_of_log_index: 20 });
    expect(await firstCells('Hits: Search B')).to.deep.equal(
      past.body.results.map(({ id }: { id: number }) =>
        near.some((hit: { id: number }) => hit.id === id) ? String(id) : `${id}only here`,
      ),
    );
  });

  it('maps a sample, coloured by metadata, with the latest hits, and opens a record by keyboard', async () => {
    await page.getByRole('link', { name: 'Map' }).click();
    await page.getByLabel('Colour by').selectOption('kind');
    await page.getByText('Circles mark the hits of the last search').waitFor();
    expect(
      (await page.getByRole('list', { name: 'Colours' }).getByRole('listitem').allTextContents()).map((text) =>
        text.trim(),
      ),
    ).to.have.members([...KINDS, 'edited']);
    await page.getByRole('application').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowUp');
    const [, chosen] = /Record (\d+): place/.exec((await page.getByText(/^Record \d+:/).textContent())!)!;
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: `Record ${chosen} of places` }).waitFor();
    await page.keyboard.press('Escape');
  });

  it('verifies each event in the browser, and marks a shredded key', async () => {
    const { rw } = project;
    await rw.post('/v1/namespaces', { name: 'sealed', dimension: 2, metric: 'squared_l2' });
    await rw.post('/v1/records', { collection: 'sealed', values: [1, 2] });
    const encrypted = await rw.post('/v1/records/encrypted', { collection: 'sealed', payload: 'c2VjcmV0' });
    const kept = await rw.post('/v1/records/encrypted', { collection: 'sealed', payload: 'a2VwdA==' });
    const shred = await rw.delete(`/v1/crypto/shred/${encrypted.body.key_id}`);
    expect([encrypted.status, kept.status, shred.status], encrypted.text + shred.text).to.deep.equal([200, 200, 200]);
    await open('audit/sealed');
    await page.getByText('This is the first visit with this browser').waitFor();
    await page.getByRole('button', { name: /^Verify these/ }).click();
    await page.getByText('verified', { exact: true }).nth(3).waitFor();
    const shown = async (): Promise<string[]> =>
      (await rowsOf('Events').locator('td:nth-child(3)').allInnerTexts()).filter((what) => what.includes('encrypted'));
    await page.getByText('which is destroyed').waitFor();
    expect(await shown(), 'the latest first').to.deep.equal([
      `Key ${encrypted.body.key_id.slice(0, 8)}… destroyed: the content that it encrypted can never be read again`,
      `Record 3 inserted, encrypted with key ${kept.body.key_id.slice(0, 8)}…`,
      `Record 2 inserted, encrypted with key ${encrypted.body.key_id.slice(0, 8)}…, which is destroyed`,
    ]);
    expect(await page.getByRole('alert').count()).to.equal(0);
    await rw.post('/v1/records', { collection: 'sealed', values: [3, 4] });
    await page.reload();
    await page.getByText(/The history is unchanged since your last visit .*: 1 new event\./).waitFor();
  });

  it('marks an encrypted record as shredded even if another page of events destroyed its key', async () => {
    const { rw } = project;
    await rw.post('/v1/namespaces', { name: 'apart', dimension: 1, metric: 'squared_l2' });
    const encrypt = () => rw.post('/v1/records/encrypted', { collection: 'apart', payload: 'AAAA' });
    const shredded: string = (await encrypt()).body.key_id;
    await encrypt();
    await rw.post('/v1/vectors/batch-insert', { collection: 'apart', batch: new Array<number[]>(49).fill([1]) });
    expect((await rw.delete(`/v1/crypto/shred/${shredded}`)).status).to.equal(200);
    await open('audit/apart');
    await page.reload();
    await page.getByRole('button', { name: 'Older events' }).click();
    await page.getByText(/^Record 1 inserted, encrypted .* which is destroyed/).waitFor();
    expect((await rowsOf('Events').nth(0).allInnerTexts())[0]).to.match(
      /Record 2 inserted, encrypted with key [0-9a-f]{8}…\s/,
    );
    await rw.delete('/v1/namespaces/apart');
  });

  it('follows the service log under a policy, and raises an alarm if it is another', async () => {
    const { rw } = project;
    await rw.get('/v1/proof/checkpoint?collection=sealed&logged=true');
    await open('audit/sealed');
    const policy = `log ${await service.logKey()}\nquorum none\n`;
    const check = async (): Promise<void> => {
      if (!(await page.getByRole('button', { name: 'Check the service log' }).isVisible()))
        await page.getByText('which records the checkpoints of all collections').click();
      await page.getByLabel(/^Policy/).fill(policy);
      await page.getByRole('button', { name: 'Check the service log' }).click();
    };
    await check();
    await page
      .getByText(/entries of vouch\/[0-9a-f]{16}\. This is the first check .* The policy asks for no witness/)
      .waitFor();
    await check();
    await page.getByText(/0 of them new\. The earlier entries are unchanged/).waitFor();
    await page.evaluate(`{
      const place = Object.keys(localStorage).find((key) => key.startsWith('vouch-log/'));
      const seen = JSON.parse(localStorage.getItem(place));
      localStorage.setItem(place, JSON.stringify({ ...seen, peaks: seen.peaks.map(() => '00'.repeat(32)) }));
    }`);
    await check();
    await page.getByText('The service log contradicts the log that this browser saw before.').waitFor();
    await page.reload();
  });

  it('raises an alarm if a history was rewritten', async () => {
    const forked = await Service.start('standalone');
    const backup = await mkdtemp(join(tmpdir(), 'vouch-backup-'));
    const write = async (rw: Client, values: readonly number[]): Promise<void> => {
      expect((await rw.post('/v1/records', { values })).status).to.equal(200);
    };
    const visit = async (): Promise<void> => {
      await page.goto('about:blank');
      await page.goto(`${forked.url}/console/#audit/default`);
    };
    try {
      const { rw } = await forked.newProject();
      await rw.post('/v1/namespaces', { name: 'default', dimension: 1, metric: 'squared_l2' });
      await write(rw, [1]);
      await forked.end('standalone');
      await cp(forked.dataDir, backup, { recursive: true });
      await forked.restart('standalone');
      await write(rw, [2]);
      await signIn(page, rw, forked.url);
      await visit();
      await page.getByText('This is the first visit with this browser').waitFor();
      // The earlier state, with another history from there on.
      await page.goto('about:blank');
      await forked.end('standalone');
      await rm(forked.dataDir, { recursive: true });
      await cp(backup, forked.dataDir, { recursive: true });
      await forked.restart('standalone');
      await write(rw, [3]);
      await visit();
      await page.getByText('The log has the same number of events as before, but different ones.').waitFor();
      await write(rw, [4]);
      await visit();
      await page.getByText('Events that this browser saw before were changed.').waitFor();
      await page.getByRole('button', { name: 'Trust the present log' }).click();
      await page.getByText('0 new events').waitFor();
    } finally {
      await forked.stop();
      await rm(backup, { recursive: true, force: true });
      strangers.length = 0;
    }
  });

  it('shows the processes and the keys only to an administrator', async () => {
    await open('cluster');
    await rowsOf('Shards').nth(1).waitFor();
    expect(await firstCells('Shards')).to.deep.equal(['s1', 's2']);
    expect(await firstCells('Placed collections')).to.include('places');
    expect(await rowsOf('NATS servers').count()).to.equal(1);
    await open('keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Label').fill('of a reader');
    await page.getByRole('button', { name: 'Create key' }).click();
    const key = (await page.getByRole('dialog').locator('code').textContent())!;
    expect((await service.client(key).get('/v1/namespaces')).status).to.equal(200);
    await page.getByRole('button', { name: 'Done' }).click();
    await rowsOf('API keys').filter({ hasText: 'of a reader' }).getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await rowsOf('API keys').filter({ hasText: 'of a reader' }).waitFor({ state: 'detached' });
    expect((await service.client(key).get('/v1/namespaces')).status).to.equal(401);
  });

  it('sends requests only to its service, and breaks none of its own rules', () => {
    expect(strangers).to.deep.equal([]);
    expect(problems).to.deep.equal([]);
  });

  for (const scheme of ['light', 'dark'] as const)
    it(`has no accessibility finding on any screen, ${scheme}`, async () => {
      await page.emulateMedia({ colorScheme: scheme });
      for (const [screen, show] of Object.entries(screens)) {
        await show();
        if (PICTURES !== undefined && scheme === 'light')
          await page.screenshot({ path: join(PICTURES, `${screen}.png`) });
        await page.evaluate(axe);
        const findings = await page.evaluate<string[]>(FINDINGS);
        expect(findings, screen).to.deep.equal([]);
      }
    });

  it('fits a phone: no element is wider than the screen', async () => {
    await page.setViewportSize(PHONE);
    for (const [screen, show] of Object.entries(screens)) {
      await show();
      const [inner, outer] = await page.evaluate<number[]>('[document.documentElement.scrollWidth, innerWidth]');
      expect(inner, screen).to.be.at.most(outer!);
    }
    await page.setViewportSize(WIDE);
  });
});

async function fill(rw: Client, name: string): Promise<void> {
  await rw.post('/v1/namespaces', { name, dimension: DIMENSION, metric: 'squared_l2' });
  const random = seededRandom(3);
  const centres = KINDS.map(() => Array.from({ length: DIMENSION }, () => 4 * random.next()));
  const kinds = Array.from({ length: RECORDS }, () => random.int(KINDS.length));
  const answer = await rw.post('/v1/vectors/batch-insert', {
    collection: name,
    batch: kinds.map((kind) => centres[kind]!.map((value) => value + random.next())),
    texts: kinds.map((kind, i) => `place ${i + 1} by the ${KINDS[kind]}`),
    metadata: kinds.map((kind, i) => ({ kind: KINDS[kind], n: i + 1 })),
  });
  expect(answer.status, answer.text).to.equal(200);
}
