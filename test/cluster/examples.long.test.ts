/** The examples, run as users would: with the client's package, against a service. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Client } from '../support/launch/client.js';
import { packageOfClient } from '../support/launch/clientPackage.js';
import { freePort } from '../support/launch/freePort.js';
import { ModelServer } from '../support/launch/modelServer.js';
import { sharedService } from '../support/launch/modes.js';
import { pageAt } from '../support/pages.js';
import { ROOT } from '../support/sourceTree.js';

const exec = promisify(execFile);

describe('the examples', () => {
  const service = sharedService('standalone');
  let rw: Client;
  let project: string;
  let folder: string;
  let signsWith: string;
  /** More environment of the programs. */
  let env: Readonly<Record<string, string>> = {};
  before(async () => {
    ({ rw, name: project } = await service.newProject());
    await rw.post('/v1/namespaces', { name: 'ledger', dimension: 2, metric: 'squared_l2' });
    signsWith = (await rw.get('/v1/proof/checkpoint?collection=ledger')).body.public_key;
    folder = await mkdtemp(join(tmpdir(), 'vouch-examples-'));
    await cp(join(ROOT, 'docs', 'examples'), folder, { recursive: true });
    await mkdir(join(folder, 'node_modules', '@vouch'), { recursive: true });
    await packageOfClient(join(folder, 'node_modules', '@vouch', 'client'));
    await symlink(join(ROOT, 'node_modules', '@langchain'), join(folder, 'node_modules', '@langchain'));
  });
  after(() => rm(folder, { recursive: true, force: true }));
  const run = async (...args: string[]): Promise<string> => {
    const named = { ...process.env, VOUCH_URL: rw.url, VOUCH_KEY: rw.key, SIGNS_WITH: signsWith, ...env };
    return (await exec(process.execPath, args, { cwd: folder, env: named })).stdout;
  };

  it('find near words, even when run again, and add no records to those of the tour', async () => {
    const glove = ['docs/examples/glove/words.npy', '--beside', 'docs/examples/glove/words.csv'];
    const load = [
      'dist/scripts/load.js',
      ...glove,
      '--collection',
      'glove',
      '--create',
      '--progress',
      join(folder, 'at'),
    ];
    await exec(process.execPath, [...load, '--url', rw.url, '--key', rw.key!], { cwd: ROOT });
    for (let n = 0; n < 2; n++)
      expect(await run('words.mjs', 'coffee', 'airport', 'soldiers', 'nothing')).to.equal(
        'coffee: sugar, shop, products, tobacco, farmers\n' +
          'airport: traffic, station, flight, hotel, route\n' +
          'soldiers: armed, soldier, dead, fighters, civilian\n' +
          'nothing: not among the 1000 words\n',
      );
    for (const collection of ['glove', 'glove-words'])
      expect((await rw.get(`/v1/records/count?collection=${collection}`)).body.count, collection).to.equal(1_000);
  });

  it("on the client's page print what the page shows", async () => {
    const { text } = pageAt('docs/client.md');
    const blocks = [...text.matchAll(/^```ts\n(.*?)^```\n\n```text\n(.*?)^```/gms)];
    const program = blocks
      .map(([, part]) => part)
      .join('')
      .replace('http://127.0.0.1:8080', rw.url);
    await writeFile(join(folder, 'page.mjs'), program);
    expect(await run('page.mjs')).to.equal(blocks.map(([, , output]) => output).join(''));
  });

  it('give a language model the passages that answer a question', async () => {
    const first = async (question: string): Promise<string | undefined> =>
      /context alone:\n\[(\w+)\]/.exec(await run('rag.mjs', question))?.[1];
    expect(await first('Which trials do judges hear in a court?')).to.equal('courts');
    expect(await first('Are there airlines with a daily flight?')).to.equal('aviation');
    expect(await first('What did the coach of the club say?')).to.equal('football');
  });

  it('answer a question from a file, with the passages that fit it best', async () => {
    const models = await ModelServer.start();
    const ask = (question: string): Promise<string> => run('ask.mjs', 'handbook.txt', question);
    const numbers = (answer: string): string[] => [...answer.matchAll(/^\[(\d)\]/gm)].map(([, number]) => number!);
    env = { MODELS_URL: models.url, EMBEDDING_MODEL: 'words', CHAT_MODEL: 'echo' };
    try {
      expect(await ask('How many days of holiday are there?')).to.match(
        /^Answer from these passages alone, with their numbers:\n\[1\] Employees have 28 days of holiday a year\./,
      );
      // "refund" and "journeys" are not in the passages, but their stems are.
      expect(numbers(await ask('Who refunds journeys?'))[0]).to.equal('2');
      expect(numbers(await ask('T-17'))[0]).to.equal('2');
      expect(numbers(await ask('My laptop is broken')))
        .to.have.length(2)
        .and.include('4');
    } finally {
      await models.close();
      env = {};
    }
    expect((await rw.get('/v1/records/count?collection=handbook')).body.count).to.equal(5);
  });

  it('end with one line where models, settings, files or a valid key are missing', async () => {
    const failure = async (more: Readonly<Record<string, string>>, ...args: string[]) => {
      env = more;
      const failed = await run(...args).then(
        (stdout) => ({ code: 0, stderr: stdout }),
        (error: { code: number; stderr: string }) => error,
      );
      env = {};
      expect(failed.code, failed.stderr).to.equal(1);
      return failed.stderr;
    };
    const ask = (more: object) =>
      failure({ EMBEDDING_MODEL: 'e', CHAT_MODEL: 'c', ...more }, 'ask.mjs', 'handbook.txt', '?');
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    expect(await ask({})).to.equal('set MODELS_URL, EMBEDDING_MODEL and CHAT_MODEL\n');
    expect(await ask({ MODELS_URL: nowhere })).to.match(
      /^no answer from MODELS_URL=http:\S+: connect ECONNREFUSED \S+\n$/,
    );
    expect(await ask({ MODELS_URL: rw.url! })).to.match(/^http:\S+\/v1\/embeddings answered 404: \{.*\}\n$/);
    for (const program of ['words.mjs', 'rag.mjs'])
      expect(await failure({ VOUCH_KEY: 'none' }, program, 'coffee')).to.match(/^.+\n$/);
    expect(await failure({}, 'audit.mjs', 'missing.vouchlog')).to.match(/^ENOENT.*\n$/);
  });

  it('are shown whole by the page of the first one', async () => {
    const { text } = pageAt('docs/rag.md');
    const [, program] = /^```js\n(.*?)^```/ms.exec(text)!;
    expect(program).to.equal(await readFile(join(ROOT, 'docs/examples/ask.mjs'), 'utf8'));
  });

  it('audit an exported log with nothing else, and refuse an altered one', async () => {
    const inserted = await rw.post('/v1/records', { collection: 'ledger', values: [1, 2], text: 'first' });
    await rw.post('/v1/records', { collection: 'ledger', values: [3, 4] });
    const [log, answer] = [join(folder, 'ledger.vouchlog'), join(folder, 'answer.json')];
    await writeFile(answer, inserted.text);
    const exporting = [
      'dist/scripts/export.js',
      '--url',
      rw.url,
      '--key',
      rw.key!,
      '--collection',
      'ledger',
      '--out',
      log,
    ];
    await exec(process.execPath, exporting, { cwd: ROOT });
    expect(await run('audit.mjs', log, signsWith, answer)).to.match(
      new RegExp(
        `^${project}/ledger: 2 events, 2 records\nevery hash and every rule holds; state [0-9a-f]{64}\nsigned with .*\nthe receipt is of a write`,
      ),
    );
    const bytes = await readFile(log);
    bytes[bytes.indexOf('first')]! ^= 1;
    await writeFile(log, bytes);
    const refused = await run('audit.mjs', log, signsWith).catch(({ stdout }: { stdout: string }) => stdout);
    expect(refused).to.match(/^refused: the frame is damaged.* of the export\)\n$/);
  });
});
