// Covers: console/, scripts/setup/browser.mjs
/** Words and shapes of the console's screens, in a real browser, on a desktop and on a phone. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { verifyErasure } from '../../verifier/index.js';
import { assertNoAlert, newPage, openScreen, rowsOf, signIn, VIEWPORTS } from '../support/consolePage.js';
import { findBrowser, NO_BROWSER, startBrowser } from '../support/launch/browser.js';
import type { Client } from '../support/launch/client.js';
import { type Project, Service } from '../support/launch/service.js';
import { skip } from '../support/skip.js';

const PLACES = 60;
const WORDS = 'harbour lighthouse fisherman seaweed driftwood shoreline '.repeat(8).trim();
/** Labels that only make sense to developers of the code. */
const VAGUE =
  /^(First|Second|Through|Moment.*|Order|Make it|Revoke it|Drop it|Delete it|Hide it|Near|k|Words|Half-life, seconds|What|Later|Earlier|Back|Made|Days|Up|Calls|Leases|Owners so far|Kind|Vectors, computed)$/;
/** Every label of a control, a column or a group. */
const LABELS = `[...document.querySelectorAll('button, legend, summary, th[scope=col], label > span, option, [aria-label]')]
  .flatMap((one) => [one.getAttribute('aria-label'), one.tagName === 'SECTION' ? null : one.innerText])
  .filter((text) => text)`;
/** Times that span several lines. */
const BROKEN_TIMES = `[...document.querySelectorAll('time')]
  .filter((one) => new Set([...one.getClientRects()].map(({ top }) => top)).size > 1).map((one) => one.innerText)`;
/** Names of tables that are partly out of sight. */
const CUT_TABLES = `[...document.querySelectorAll('main .wide')]
  .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.getAttribute('aria-label'))`;
/** Records every text drawn on a canvas. */
const WATCH_CANVAS = `{
  const { fillText } = CanvasRenderingContext2D.prototype;
  window.drawn = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    window.drawn.push(text);
    return fillText.call(this, text, ...rest);
  };
}`;
/** A label of the axis, such as 09:41. */
const MINUTE = /^\d\d:\d\d$/;
const HEAD_SHARE_MAX = 1 / 8;
const PHONE_ROW_PX_MAX = 100;

interface Screen {
  readonly hash: string;
  /** A table of the screen, if it has one. */
  readonly table?: string;
  /** Fills the screen as far as possible. */
  readonly show?: (page: Page) => Promise<void>;
}

const SCREENS: readonly Screen[] = [
  { hash: 'collections', table: 'Collections' },
  { hash: 'records/places', table: 'Records' },
  {
    hash: 'search/places/5',
    table: 'Hits: Search B',
    show: async (page) => {
      await page.getByLabel('Compare with').check();
      await page.getByText('Ranking').click();
      await page.getByRole('button', { name: 'Add a condition' }).click();
      await page.getByRole('group', { name: 'Search B' }).getByRole('slider').fill('20');
      await page.getByText('in the state after event 20').waitFor();
    },
  },
  { hash: 'map/places' },
  {
    hash: 'audit/changed',
    table: 'Events',
    show: (page) => page.getByRole('button', { name: /^Verify these/ }).click(),
  },
  { hash: 'cluster', table: 'Shards' },
  { hash: 'keys', table: 'API keys' },
];

for (const viewport of VIEWPORTS)
  describe(`the screens of the console at ${viewport.width} px`, () => {
    let browser: Browser;
    let service: Service;
    let project: Project;
    let page: Page;
    let shreddedKey: string;

    before(async function () {
      const path = findBrowser();
      if (path === undefined) return skip(this, NO_BROWSER);
      [browser, service] = await Promise.all([startBrowser(path), Service.start('standalone')]);
      project = await service.newProject();
      await fillPlaces(project.rw);
      shreddedKey = await makeChanges(project.rw);
      page = await newPage(browser, viewport);
      await page.addInitScript(WATCH_CANVAS);
      await signIn(page, service.url, project.admin.key!);
    });

    after(async () => {
      await browser?.close();
      await service?.stop();
    });

    const open = async (hash: string): Promise<void> => {
      await page.goto('about:blank');
      await openScreen(page, service.url, hash);
      await page.getByRole('heading', { level: 1 }).waitFor();
    };

    const show = async (screen: Screen): Promise<void> => {
      await open(screen.hash);
      if (screen.table !== undefined && screen.show === undefined) await rowsOf(page, screen.table).first().waitFor();
      await screen.show?.(page);
      if (screen.table !== undefined) await rowsOf(page, screen.table).first().waitFor();
    };

    it('every kind of event verifies, even a graph node with a record', async () => {
      await open('audit/changed');
      const events = rowsOf(page, 'Events');
      await page.getByRole('button', { name: /^Verify these/ }).click();
      await page
        .getByText('verified', { exact: true })
        .nth((await events.count()) - 1)
        .waitFor();
      await assertNoAlert(page);
    });

    it('a button beside the event of a shred saves its certificate', async () => {
      await open('audit/changed');
      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: `Certificate of key ${shreddedKey}` }).click();
      const { certificates } = JSON.parse(readFileSync(await (await saved).path(), 'utf8'));
      expect(verifyErasure(certificates[0]).keyId).to.equal(shreddedKey);
      await assertNoAlert(page);
    });

    it('the audit of a collection shows who has read it, also once its access log is switched off', async () => {
      const name = `watched-${viewport.width}`;
      const made = { name, dimension: 1, metric: 'squared_l2', audit_reads: 'full' };
      expect((await project.rw.post('/v1/namespaces', made)).status).to.equal(200);
      await project.rw.post('/v1/records', { collection: name, values: [1] });
      const search = { collection: name, query: [1], k: 1 };
      await project.ro.post('/v1/search', search, { 'vouch-on-behalf-of': 'u-17' });
      await open(`audit/${name}`);
      const found = rowsOf(page, 'Reads').filter({ hasText: 'u-17' });
      await found.waitFor();
      expect(await found.innerText()).to.match(/POST \/v1\/search/);
      await found.getByText('Body').click();
      await found.getByText(JSON.stringify(search)).waitFor();
      const long = { ...search, query_text: 'x'.repeat(60_000) };
      for (let i = 0; i < 20; i++) await project.ro.post('/v1/search', long);
      await project.ro.post('/v1/search', search, { 'vouch-on-behalf-of': 'u-18' });
      await open(`audit/${name}`);
      await rowsOf(page, 'Reads').filter({ hasText: 'u-18' }).waitFor();
      const off = await project.admin.patch(`/v1/namespaces/${name}`, { audit_reads: false });
      expect(off.status).to.equal(200);
      await open(`audit/${name}`);
      await page.getByText('The access log is switched off. It has the reads from before.').waitFor();
      await rowsOf(page, 'Reads').filter({ hasText: 'u-18' }).waitFor();
    });

    it('each event is one sentence that names each thing once', async () => {
      await open('audit/changed');
      const key = shreddedKey.slice(0, 8);
      await page.getByText('which is destroyed').waitFor();
      expect(await rowsOf(page, 'Events').locator('td:nth-child(3)').allInnerTexts()).to.deep.equal([
        `Key ${key}… destroyed: the content that it encrypted can never be read again`,
        `Record 6 inserted, encrypted with key ${key}…, which is destroyed`,
        'Graph node 2 deleted',
        'Graph edge 1 deleted',
        'Graph edge 1 added',
        'Graph node 2 added',
        'Graph node 1 added for record 1',
        'End of a request that deleted several records',
        'Record 5 deleted',
        'Record 4 deleted',
        'Record 3 deleted',
        'Record 2 soft-deleted',
        'Metadata of record 1 replaced',
        'Record 1 replaced by an upsert',
        'Record 5 inserted',
        'Record 4 inserted',
        'Record 3 inserted',
        'Record 2 inserted',
        'Record 1 inserted',
      ]);
    });

    for (const screen of SCREENS)
      it(`${screen.hash}: no time breaks, no table is cut, and no label is vague`, async () => {
        await show(screen);
        expect(await page.evaluate<string[]>(BROKEN_TIMES), 'broken times').to.deep.equal([]);
        expect(await page.evaluate<string[]>(CUT_TABLES), 'cut tables').to.deep.equal([]);
        const labels = await page.evaluate<string[]>(LABELS);
        expect(labels).not.to.deep.equal([]);
        expect(labels.filter((label) => VAGUE.test(label.trim()))).to.deep.equal([]);
        await assertNoAlert(page);
      });

    it('dialogs have no vague label', async () => {
      const dialogs = [
        ['collections', 'New collection'],
        ['collections', 'Change index …'],
        ['collections', 'Delete …'],
        ['collections', 'New alias'],
        ['keys', 'New key'],
        ['keys', 'Revoke …'],
      ] as const;
      for (const [hash, button] of dialogs) {
        await open(hash);
        await page.getByRole('button', { name: button }).first().click();
        await page.getByRole('dialog').waitFor();
        const labels = await page.evaluate<string[]>(LABELS);
        expect(
          labels.filter((label) => VAGUE.test(label.trim())),
          button,
        ).to.deep.equal([]);
      }
    });

    it('aliases are created, moved and deleted beside the collections, and lead to their collection', async () => {
      const aliases = async () => (await project.rw.get('/v1/aliases')).body.aliases;
      await open('collections');
      await page.getByRole('button', { name: 'New alias' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('textbox').fill('current');
      await dialog.getByRole('combobox').selectOption('places');
      await page.getByRole('button', { name: 'Create alias' }).click();
      const row = rowsOf(page, 'Aliases').filter({ hasText: 'current' });
      await row.getByRole('button', { name: 'Move' }).click();
      await dialog.getByRole('combobox').selectOption('changed');
      await page.getByRole('button', { name: 'Move alias' }).click();
      await row.getByText('changed').waitFor();
      expect(await aliases()).to.deep.equal([{ alias: 'current', collection: 'changed' }]);
      await open('records/current');
      await page.waitForURL(/#records\/changed$/);
      await open('collections');
      await row.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete alias' }).click();
      await row.waitFor({ state: 'detached' });
      expect(await aliases()).to.deep.equal([]);
    });

    it('a long value hides no other key of the metadata, and a text ends with a whole word', async () => {
      await open('search/places/5');
      await page.getByLabel('Compare with').check();
      for (const table of ['Hits: Search A', 'Hits: Search B'] as const) {
        const rows = rowsOf(page, table);
        await rows.nth(9).waitFor();
        for (const shown of await rows.locator('td:last-child').allInnerTexts()) {
          expect(shown.replace(/\s+/g, ' ')).to.match(/note harbour .* … kind sea n \d+$/);
          for (const cut of shown.match(/\S+(?= …)/g) ?? []) expect(WORDS.split(' ')).to.include(cut);
        }
      }
      await open('records/places');
      const first = rowsOf(page, 'Records').first();
      await first.waitFor();
      expect((await first.locator('td').allInnerTexts()).join(' ').replace(/\s+/g, ' ')).to.match(
        /note harbour .* … kind sea n 1$/,
      );
    });

    it('records can be sorted by a metadata value, page after page', async () => {
      await open('records/places');
      await page.getByLabel('Sort by').fill('n');
      await page.getByLabel('Ascending or descending', { exact: true }).selectOption('desc');
      await page.getByRole('button', { name: 'Apply filter' }).click();
      await rowsOf(page, 'Records').first().getByText('60', { exact: true }).first().waitFor();
      await page.getByRole('button', { name: 'Next page' }).click();
      await rowsOf(page, 'Records').first().getByText('10', { exact: true }).first().waitFor();
    });

    it('hits are named by their external ids, and no hits and no records remain below an error', async () => {
      const batch = { batch: [[1], [2]], external_ids: ['page one', 'page two'] };
      await project.rw.post('/v1/namespaces', { name: 'named', dimension: 1, metric: 'squared_l2' });
      await project.rw.post('/v1/vectors/batch-upsert', { collection: 'named', ...batch });
      await open('search/named/1');
      await page.getByText('page two', { exact: true }).waitFor();
      await page.getByLabel('Id of the record').fill('77');
      await page.getByRole('alert').getByText('there is no record 77').waitFor();
      expect(await rowsOf(page, 'Hits: Search').count()).to.equal(0);
      await open('records/named');
      await rowsOf(page, 'Records').nth(1).waitFor();
      await page.getByLabel('Filter by metadata').fill('{"a": {"gt": []}}');
      await page.getByRole('button', { name: 'Apply filter' }).click();
      await page.getByRole('alert').getByText('gt').waitFor();
      expect(await rowsOf(page, 'Records').count()).to.equal(0);
      await project.rw.delete('/v1/namespaces/named');
    });

    for (const hash of ['%E0%A4%A', 'records/%', '%', 'records/places/%FF', 'nothing/here', ''])
      it(`the address #${hash} redirects to the collections`, async () => {
        await open(hash);
        expect(await page.getByRole('heading', { level: 1 }).textContent()).to.equal('Collections');
        await rowsOf(page, 'Collections').first().waitFor();
      });

    it('the address of a missing collection reports it, and shows no other collection', async () => {
      await open('records/gone');
      await page.getByText('This project has no collection named gone.').waitFor();
      await page.getByRole('link', { name: 'Show all collections' }).click();
      await rowsOf(page, 'Collections').first().waitFor();
    });

    it('the time axis of the charts shows minutes from the first value on', async () => {
      await page.evaluate('window.drawn.length = 0');
      await open('cluster');
      await rowsOf(page, 'Shards').first().waitFor();
      await service.until(async () =>
        (await page.evaluate<string[]>('window.drawn')).some((text) => MINUTE.test(text)),
      );
      const drawn = await page.evaluate<string[]>('window.drawn');
      expect(drawn.filter((text) => !MINUTE.test(text) && !/^\d+$/.test(text))).to.deep.equal([]);
    });

    if (viewport.width < 400) {
      it('the head takes at most an eighth of the height', async () => {
        await open('search/places/5');
        const { height } = (await page.getByRole('banner').boundingBox())!;
        expect(height).to.be.at.most(viewport.height * HEAD_SHARE_MAX);
      });

      for (const screen of SCREENS.filter(({ table }) => table !== undefined))
        it(`${screen.hash}: no row is taller than ${PHONE_ROW_PX_MAX} px`, async () => {
          await open(screen.hash);
          if (screen.hash.startsWith('search')) await screen.show?.(page);
          const rows = rowsOf(page, screen.table!);
          await rows.first().waitFor();
          const heights = await rows.evaluateAll((all) => all.map((row) => row.getBoundingClientRect().height));
          expect(Math.max(...heights)).to.be.at.most(PHONE_ROW_PX_MAX);
        });

      it(`no row with an external id and a text is taller than ${PHONE_ROW_PX_MAX} px`, async () => {
        const names = ['a', 'b'].map((name) => `harbour/lighthouse/${name}`.padEnd(40, '-of-the-coast'));
        const fields = { external_ids: names, texts: [WORDS, WORDS], metadata: [{ kind: WORDS }, { kind: WORDS }] };
        await project.rw.post('/v1/namespaces', { name: 'named', dimension: 1, metric: 'squared_l2', normalise: true });
        const added = await project.rw.post('/v1/vectors/batch-upsert', {
          collection: 'named',
          batch: [[1], [2]],
          ...fields,
        });
        expect(added.status, added.text).to.equal(200);
        for (const [hash, table] of [
          ['records/named', 'Records'],
          ['search/named/1', 'Hits: Search'],
        ] as const) {
          await open(hash);
          await rowsOf(page, table).first().waitFor();
          const rows = await rowsOf(page, table).evaluateAll((all) =>
            all.map((row) => row.getBoundingClientRect().height),
          );
          expect(Math.max(...rows), hash).to.be.at.most(PHONE_ROW_PX_MAX);
        }
        await project.rw.delete('/v1/namespaces/named');
      });
    }
  });

async function fillPlaces(rw: Client): Promise<void> {
  await rw.post('/v1/namespaces', { name: 'places', dimension: 2, metric: 'squared_l2' });
  const numbers = Array.from({ length: PLACES }, (_, i) => i + 1);
  const answer = await rw.post('/v1/vectors/batch-insert', {
    collection: 'places',
    batch: numbers.map((n) => [n, n % 7]),
    texts: numbers.map((n) => `place ${n}: ${WORDS}`),
    metadata: numbers.map((n) => ({ note: WORDS, kind: 'sea', n })),
  });
  expect(answer.status, answer.text).to.equal(200);
}

/** Makes an event of each kind. Returns the id of the destroyed key. */
async function makeChanges(rw: Client): Promise<string> {
  const collection = 'changed';
  await rw.post('/v1/namespaces', { name: collection, dimension: 1, metric: 'squared_l2' });
  const done = async (path: string, body: object): Promise<{ readonly key_id: string }> => {
    const answer = await rw.post(path, { collection, ...body });
    expect(answer.status, `${path} ${answer.text}`).to.equal(200);
    return answer.body;
  };
  const upsert = (value: number): Promise<unknown> =>
    done('/v1/vectors/batch-upsert', { external_ids: ['a'], batch: [[value]] });
  await upsert(1);
  await done('/v1/vectors/batch-insert', { batch: [[2], [3], [4], [5]] });
  await upsert(9);
  expect((await rw.patch(`/v1/records/1/metadata?collection=${collection}`, { kind: 'sea' })).status).to.equal(200);
  await done('/v1/soft-delete', { id: 2 });
  await done('/v1/delete', { id: 3 });
  await done('/v1/records/delete', { ids: [4, 5], request_id: '1'.repeat(32) });
  await done('/v1/graph/node', { kind: 1, record_id: 1 });
  await done('/v1/graph/node', { kind: 1 });
  await done('/v1/graph/edge', { from: 1, to: 2, kind: 1 });
  for (const path of ['edge/1', 'node/2']) await rw.delete(`/v1/graph/${path}?collection=${collection}`);
  const { key_id: key } = await done('/v1/records/encrypted', { payload: 'c2VjcmV0' });
  expect((await rw.delete(`/v1/crypto/shred/${key}`)).status).to.equal(200);
  return key;
}
