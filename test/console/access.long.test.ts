/**
 * The console with keys of each scope, and under the default limits, in a real browser, on a desktop and on a phone.
 */
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { assertNoAlert, enterKey, newPage, openScreen, rowsOf, signIn, VIEWPORTS } from '../support/consolePage.js';
import { findBrowser, LAN_HOST, NO_BROWSER, startBrowser } from '../support/launch/browser.js';
import { type Project, Service } from '../support/launch/service.js';
import { skip } from '../support/skip.js';

const RATE = { perMinute: 50, burst: 10 };
/** The default limits, which the launcher of tests turns off. */
const DEFAULT_LIMITS = JSON.stringify({ default: { total: { perMinute: 100, burst: 20 }, read: RATE, write: RATE } });
const RECORDS = 12;
const READ_SCREENS = ['Collections', 'Records', 'Search', 'Map', 'Audit'];
/** Buttons that change something. */
const WRITES = ['New collection', 'Change index …', 'Delete …', 'Soft-delete …', 'Save metadata'];

for (const viewport of VIEWPORTS) {
  describe(`the console for each key at ${viewport.width} px`, () => {
    let browser: Browser;
    let service: Service;
    let project: Project;

    before(async function () {
      const path = findBrowser();
      if (path === undefined) return skip(this, NO_BROWSER);
      [browser, service] = await Promise.all([startBrowser(path), Service.start('standalone')]);
      project = await service.newProject();
      await fill(project);
    });

    after(async () => {
      await browser?.close();
      await service?.stop();
    });

    /** Runs `use` in a signed-in tab, and expects that the service refused nothing. */
    async function signedIn(key: string | undefined, use: (page: Page) => Promise<void>): Promise<void> {
      const page = await newPage(browser, viewport);
      const refused: string[] = [];
      page.on('response', (response) => {
        if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
      });
      await signIn(page, service.url, key!);
      await use(page);
      expect(refused).to.deep.equal([]);
      await page.context().close();
    }

    const screensOf = (page: Page): Promise<string[]> =>
      page.getByRole('navigation').getByRole('link').allTextContents();

    it('a read_write key shows its screens, and the others name the scope they need', () =>
      signedIn(project.rw.key, async (page) => {
        expect(await screensOf(page)).to.deep.equal(READ_SCREENS);
        for (const hash of ['cluster', 'keys']) {
          await openScreen(page, service.url, hash);
          await page
            .getByText('This screen needs a key with the scope admin. Your key has the scope read_write.')
            .waitFor();
        }
        await openScreen(page, service.url, 'collections');
        await page.getByRole('button', { name: 'New collection' }).waitFor();
      }));

    it('an admin key shows all screens', () =>
      signedIn(project.admin.key, async (page) => {
        expect(await screensOf(page)).to.deep.equal([...READ_SCREENS, 'Cluster', 'Keys']);
      }));

    it('a read_only key shows no button that changes the project', () =>
      signedIn(project.ro.key, async (page) => {
        await rowsOf(page, 'Collections').first().waitFor();
        const offered = async (): Promise<string[]> =>
          (await page.getByRole('button').allTextContents()).filter((name) => WRITES.includes(name));
        expect(await offered()).to.deep.equal([]);
        await openScreen(page, service.url, 'records/places/1');
        await page.getByRole('link', { name: 'Find similar records' }).waitFor();
        expect(await offered()).to.deep.equal([]);
      }));

    it('a read_only key asks for no access log, and the audit says who sees it', async () => {
      const made = { name: 'watched', dimension: 1, metric: 'squared_l2', audit_reads: true };
      expect((await project.rw.post('/v1/namespaces', made)).status).to.equal(200);
      await signedIn(project.ro.key, async (page) => {
        await openScreen(page, service.url, 'audit/watched');
        await page.getByText('A key with the scope admin sees them.').waitFor();
      });
      expect((await project.admin.delete('/v1/namespaces/watched')).status).to.equal(204);
    });

    it('a wrong key is refused with the reason, and the page names the place of the key file', async () => {
      const page = await newPage(browser, viewport);
      const metrics = (await project.admin.post('/v1/keys', { scope: 'metrics' })).body.key;
      const refusals = [
        ['secret', 'This is not an API key. A key is vk_ and 64 digits from 0 to 9 and a to f.'],
        [`vk_${'0'.repeat(64)}`, 'The service does not know this key: it is of another service, expired or revoked.'],
        [metrics, 'This key has the scope metrics: it can read /metrics, but nothing in this console.'],
      ];
      for (const [key, reason] of refusals) {
        await enterKey(page, service.url, key);
        await page.getByRole('alert').getByText(reason!, { exact: true }).waitFor();
        await page.getByText('data/keys/default.key').waitFor();
        await page.reload();
      }
      // A line copied from a terminal.
      await signIn(page, service.url, `  API key       ${project.ro.key}  (shown this once)`);
      await page.context().close();
    });

    it('a key is copied over HTTPS, localhost, and HTTP in a LAN', async () => {
      for (const url of [service.url, service.url.replace('127.0.0.1', LAN_HOST)]) {
        const page = await newPage(browser, viewport);
        await signIn(page, url, project.admin.key!);
        expect(await page.evaluate<boolean>('isSecureContext'), url).to.equal(url === service.url);
        await openScreen(page, url, 'keys');
        const key = await newKey(page);
        await page.getByRole('button', { name: 'Copy' }).click();
        await page.getByText('Copied.', { exact: true }).waitFor();
        await page.getByRole('button', { name: 'Done' }).click();
        await page.getByRole('button', { name: 'New key' }).click();
        const label = page.getByLabel('Label');
        await service.until(async () => {
          await label.fill('');
          await label.press('Control+V');
          return (await label.inputValue()) === key;
        });
        await page.context().close();
      }
    });

    it('the key is selected, and the page names the keys to press, if the browser refuses to copy', async () => {
      const page = await newPage(browser, viewport);
      await page.addInitScript('document.execCommand = () => false');
      const url = service.url.replace('127.0.0.1', LAN_HOST);
      await signIn(page, url, project.admin.key!);
      await openScreen(page, url, 'keys');
      const key = await newKey(page);
      await page.getByRole('button', { name: 'Copy' }).click();
      await page.getByText('press Ctrl+C, or ⌘C on a Mac').waitFor();
      expect(await page.evaluate<string>('getSelection().toString()')).to.equal(key);
      await page.context().close();
    });
  });

  describe(`the console under the default limits at ${viewport.width} px`, () => {
    let browser: Browser;
    let service: Service;
    let project: Project;

    before(async function () {
      const path = findBrowser();
      if (path === undefined) return skip(this, NO_BROWSER);
      [browser, service] = await Promise.all([
        startBrowser(path),
        Service.start('standalone', { VOUCH_RATE_LIMITS: DEFAULT_LIMITS }),
      ]);
    });

    beforeEach(async () => {
      project = await service.newProject();
      await fill(project);
    });

    after(async () => {
      await browser?.close();
      await service?.stop();
    });

    /** Uses up the project's requests, so that the console must wait. */
    const exhaust = async (): Promise<void> => {
      await service.until(async () => (await project.ro.get('/v1/version')).status === 429);
    };

    it('the map needs few requests', async () => {
      const page = await newPage(browser, viewport);
      await signIn(page, service.url, project.ro.key!);
      const asked: string[] = [];
      page.on('request', (request) => {
        if (request.url().includes('/v1/')) asked.push(request.url());
      });
      await page.getByRole('link', { name: 'Map' }).click();
      await page.getByText(`${RECORDS} records, one point each.`).waitFor();
      expect(asked.filter((url) => url.includes('/v1/records'))).to.have.length(1);
      await assertNoAlert(page);
      await page.context().close();
    });

    for (const [screen, text] of [
      ['Map', `${RECORDS} records, one point each.`],
      ['Audit', 'signature is valid'],
    ] as const)
      it(`${screen} reports that it waits for requests of the project, and is then filled`, async () => {
        const page = await newPage(browser, viewport);
        await signIn(page, service.url, project.ro.key!);
        await rowsOf(page, 'Collections').first().waitFor();
        await exhaust();
        await page.getByRole('link', { name: screen }).click();
        await page.getByText('The rate limit of the project is reached.').waitFor();
        await assertNoAlert(page);
        await page.getByText(text).waitFor();
        await assertNoAlert(page);
        await page.context().close();
      });

    it('more events are verified than the project has requests left, with one request each', async () => {
      const page = await newPage(browser, viewport);
      await signIn(page, service.url, project.ro.key!);
      await page.getByRole('link', { name: 'Audit' }).click();
      const proofs: string[] = [];
      page.on('response', (response) => {
        const { pathname } = new URL(response.url());
        if (response.ok() && /receipt|inclusion/.test(pathname)) proofs.push(pathname);
      });
      await page.getByRole('button', { name: `Verify these ${RECORDS} events` }).click();
      await page
        .getByText('verified', { exact: true })
        .nth(RECORDS - 1)
        .waitFor();
      expect(proofs.filter((path) => path.endsWith('inclusion'))).to.have.length(1);
      expect(proofs.filter((path) => path.endsWith('receipt'))).to.have.length(RECORDS);
      await assertNoAlert(page);
      await page.context().close();
    });
  });
}

/** Creates a key on the open screen of keys. Returns the key from the dialog. */
async function newKey(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  return (await page.getByRole('dialog', { name: 'The new key' }).locator('code').textContent())!;
}

async function fill({ rw }: Project): Promise<void> {
  await rw.post('/v1/namespaces', { name: 'places', dimension: 2, metric: 'squared_l2' });
  const batch = Array.from({ length: RECORDS }, (_, i) => [i, i % 3]);
  const answer = await rw.post('/v1/vectors/batch-insert', { collection: 'places', batch });
  expect(answer.status, answer.text).to.equal(200);
}
