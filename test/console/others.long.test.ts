/** Events by their actor, and changes that other clients make at once, in the console. */
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { newPage, openScreen, rowsOf, signIn, VIEWPORTS } from '../support/consolePage.js';
import { findBrowser, NO_BROWSER, startBrowser } from '../support/launch/browser.js';
import { type Project, Service } from '../support/launch/service.js';
import { skip } from '../support/skip.js';

describe('the console, beside other clients', () => {
  let browser: Browser;
  let service: Service;
  let project: Project;
  let page: Page;
  const numbers = (): Promise<string[]> => rowsOf(page, 'Events').locator('th').allInnerTexts();

  before(async function () {
    const path = findBrowser();
    if (path === undefined) return skip(this, NO_BROWSER);
    [browser, service] = await Promise.all([startBrowser(path), Service.start('standalone')]);
    project = await service.newProject();
    page = await newPage(browser, VIEWPORTS[0]);
    await signIn(page, service.url, project.admin.key!);
  });

  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  it('shows the events of one actor in the order of the log', async () => {
    const { rw } = project;
    await rw.post('/v1/namespaces', { name: 'acted', dimension: 1, metric: 'squared_l2' });
    const insert = (count: number, person: string) => {
      const body = { collection: 'acted', batch: Array.from({ length: count }, (_, i) => [i]) };
      return rw.raw('POST', '/v1/vectors/batch-insert', JSON.stringify(body), { 'vouch-on-behalf-of': person });
    };
    await insert(2, 'mia');
    await insert(60, 'tom');
    expect((await insert(1, 'mia')).status).to.equal(200);
    await openScreen(page, service.url, 'audit/acted');
    await page.getByLabel('Only events by').fill('mia');
    await page.getByRole('button', { name: 'Show' }).click();
    await rowsOf(page, 'Events').nth(2).waitFor();
    expect(await numbers()).to.deep.equal(['1', '2', '63']);
    await page.getByLabel('Only events by').fill('tom');
    await page.getByRole('button', { name: 'Show' }).click();
    await rowsOf(page, 'Events').nth(49).waitFor();
    await page.getByRole('button', { name: 'Newer events' }).click();
    await page.getByRole('button', { name: 'Verify these 10 events' }).click();
    await page.getByText('verified', { exact: true }).nth(9).waitFor();
    expect((await numbers())[0]).to.equal('53');
    await page.getByRole('button', { name: 'Older events' }).click();
    await rowsOf(page, 'Events').nth(49).waitFor();
  });

  it('does not save over a change that another client has made since', async () => {
    const { rw } = project;
    await rw.post('/v1/namespaces', { name: 'shared', dimension: 1, metric: 'squared_l2' });
    await rw.post('/v1/records', { collection: 'shared', values: [1], metadata: { by: 'one' } });
    await openScreen(page, service.url, 'records/shared');
    await page.getByRole('link', { name: '1', exact: true }).click();
    await page.getByText('event 1', { exact: true }).waitFor();
    await rw.patch('/v1/records/1/metadata?collection=shared', { by: 'other' });
    await page.getByRole('dialog').getByLabel('Metadata').fill('{"by": "console"}');
    await page.getByRole('button', { name: 'Save metadata' }).click();
    await page.getByRole('alert').waitFor();
    expect((await rw.get('/v1/records/1?collection=shared')).body.metadata).to.deep.equal({ by: 'other' });
  });
});
