/** The client's package in other runtimes: one program, in each. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findBrowser, NO_BROWSER, startBrowser } from '../support/launch/browser.js';
import { packageOfClient } from '../support/launch/clientPackage.js';
import { runTool } from '../support/launch/foreignTool.js';
import { freePort } from '../support/launch/freePort.js';
import { launch } from '../support/launch/process.js';
import { installFromRegistry } from '../support/launch/registry.js';
import { type Client, Service } from '../support/launch/service.js';
import { skip } from '../support/skip.js';

const PROGRAM = `
import { CollectionNotFoundError, memoryStore, verifyReceipt, Vouch } from '@vouch/client';

export async function use(url, apiKey, name) {
  const vouch = new Vouch({ url, apiKey });
  await vouch.createCollection({ name, dimension: 2, metric: 'squared_l2' });
  const docs = vouch.collection(name);
  const record = { values: Float32Array.of(1, 2), text: 'grün', metadata: { a: 1 } };
  const { id, receipt } = await docs.insert(record);
  verifyReceipt(receipt, { record });
  let isForgeryTaken = true;
  try {
    verifyReceipt(receipt, { record: { ...record, text: 'grau' } });
  } catch {
    isForgeryTaken = false;
  }
  async function* many() {
    for (let i = 0; i < 5_000; i++) yield { values: [i, 1] };
  }
  const { inserted } = await docs.insertMany(many(), { batchSize: 500 });
  const { results } = await docs.search({ query: record.values, k: 1, with: ['text'] });
  const { checkpoint } = await vouch.pinnedCheckpoints(memoryStore()).check(name);
  const types = new Set();
  for await (const { eventType } of docs.timeline()) types.add(eventType);
  let bytes = 0;
  for await (const piece of docs.exportLog()) bytes += piece.bytes.length;
  const refusal = await vouch.collection('absent').count().catch((error) => error);
  return JSON.stringify({
    ...{ id, isForgeryTaken, inserted, found: [results[0].id, results[0].text], events: checkpoint.size },
    ...{ types: [...types], isWhole: bytes > 100_000, isNamed: refusal instanceof CollectionNotFoundError },
  });
}
`;
const MAIN = `
import process from 'node:process';
import { use } from './program.mjs';
const { VOUCH_URL, VOUCH_KEY, NAME } = process.env;
console.log(await use(VOUCH_URL, VOUCH_KEY, NAME));
`;

/** The log begins with the creation of the collection. */
const EXPECTED = {
  ...{ id: 1, isForgeryTaken: false, inserted: 5_000, found: [1, 'grün'], events: 5_002, types: ['insert'] },
  ...{ isWhole: true, isNamed: true },
};
const RUNTIMES = [
  ['bun', []],
  ['deno', ['run', '--allow-net', '--allow-env']],
] as const;

describe('the client', () => {
  let folder: string;
  let service: Service;
  let rw: Client;
  let port: number;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-runtimes-'));
    port = await freePort();
    service = await Service.start('standalone', { VOUCH_CORS_ORIGINS: `http://127.0.0.1:${port}` });
    ({ rw } = await service.newProject());
    await writeFile(join(folder, 'package.json'), '{"name":"empty","type":"module"}');
    await writeFile(join(folder, 'program.mjs'), PROGRAM);
    await writeFile(join(folder, 'main.mjs'), MAIN);
    const { tarball } = await packageOfClient(join(folder, 'made'));
    expect(await installFromRegistry(folder, tarball, ['--omit=peer'])).to.equal(true);
  });
  after(async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  for (const [name, args] of RUNTIMES)
    it(`runs in ${name}`, async function () {
      const path = join(folder, 'node_modules', '.bin', name);
      if (!(await installFromRegistry(folder, name, ['--omit=peer'])) || !(await isRunnable(path)))
        skip(this, `npm reaches no registry, or has no ${name} for this machine`);
      const env = { VOUCH_URL: rw.url, VOUCH_KEY: rw.key, NAME: name };
      const run = launch(path, [...args, 'main.mjs'], { cwd: folder, env });
      const { code } = await run.waitForEnd();
      expect(code, run.output).to.equal(0);
      expect(JSON.parse(/^\{.*\}$/m.exec(run.output)![0])).to.deep.equal(EXPECTED);
    });

  it('runs in a browser, on a page of another origin', async function () {
    const path = findBrowser();
    if (path === undefined) return skip(this, NO_BROWSER);
    const pages = servePages(folder).listen(port, '127.0.0.1');
    const browser = await startBrowser(path);
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${port}/`);
      const call = `import('/program.mjs').then(({ use }) => use(${JSON.stringify(rw.url)}, ${JSON.stringify(rw.key)}, 'browser'))`;
      expect(JSON.parse(await page.evaluate(call))).to.deep.equal(EXPECTED);
    } finally {
      await browser.close();
      pages.close();
    }
  });
});

const isRunnable = async (path: string): Promise<boolean> => (await runTool(path, ['--version'])).code === 0;

/** A page that loads the package like from a bundler or a content network. */
function servePages(folder: string): Server {
  const page = `<!doctype html><link rel="icon" href="data:,"><script type="importmap">{"imports":{"@vouch/client":"/node_modules/@vouch/client/index.js"}}</script>`;
  return createServer(({ url = '/' }, response) => {
    const isScript = url !== '/';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? readFileSync(join(folder, url)) : page);
  });
}
