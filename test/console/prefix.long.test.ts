/** The console behind a proxy that serves it under a path, in a real browser. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { findBrowser, NO_BROWSER, startBrowser } from '../support/launch/browser.js';
import { type Project, Service } from '../support/launch/service.js';
import { skip } from '../support/skip.js';

const PREFIXES = ['/vouch', '/deep/er/'] as const;

describe('the console under a path', () => {
  let browser: Browser;
  let service: Service;
  let project: Project;
  let proxy: Server;
  let origin: string;
  /** Requested paths outside of every prefix. */
  const strays: string[] = [];

  before(async function () {
    const path = findBrowser();
    if (path === undefined) return skip(this, NO_BROWSER);
    [browser, service] = await Promise.all([startBrowser(path), Service.start('standalone')]);
    project = await service.newProject();
    await project.rw.post('/v1/namespaces', { name: 'places', dimension: 2, metric: 'squared_l2' });
    proxy = createServer((req, res) => {
      const prefix = PREFIXES.map((one) => one.replace(/\/$/, '')).find((one) => req.url!.startsWith(`${one}/`));
      if (prefix === undefined) {
        strays.push(req.url!);
        res.writeHead(404).end();
        return;
      }
      const { method, headers } = req;
      const sent = request(service.url + req.url!.slice(prefix.length), { method, headers }, (answer) => {
        res.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(res);
      });
      req.pipe(sent);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });

  after(async () => {
    await browser?.close();
    proxy?.closeAllConnections();
    proxy?.close();
    await service?.stop();
  });

  it('requests nothing outside of its path, and sends its key to no other service there', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    for (const prefix of PREFIXES) {
      // Without a final slash the browser is redirected.
      await page.goto(`${origin}${prefix.replace(/\/$/, '')}/console`);
      await page.getByLabel('API key').fill(project.admin.key!);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('region', { name: 'Collections', exact: true }).getByText('places').first().waitFor();
      expect(new URL(page.url()).pathname).to.equal(`${prefix.replace(/\/$/, '')}/console/`);
    }
    // The browser itself requests an icon of the origin.
    expect(strays.filter((path) => path !== '/favicon.ico')).to.deep.equal([]);
  });
});
