/**
 * The `nats` command with the login `operator`, as in docs/operations/inspect.md: it shows the cluster, and changes
 * nothing. To install it with Go: `go install github.com/nats-io/natscli/nats@v0.1.5`.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from '../support/expectations.js';
import { Client } from '../support/launch/client.js';
import { findTool, runTool } from '../support/launch/foreignTool.js';
import { freePort } from '../support/launch/freePort.js';
import { type Launched, launch, launchNode } from '../support/launch/process.js';
import { skip } from '../support/skip.js';
import { ROOT } from '../support/sourceTree.js';

const START = fileURLToPath(new URL('../../scripts/start.js', import.meta.url));
const UP = /^ +stop +Ctrl-C/;
/** Limit of each exchange with the server; a refused request is never answered. */
const ANSWER_WITHIN = '2s';
/** Lines of the page that create its logins: each saves a context, and names the command that uses it. */
const LOGINS = [
  ...readFileSync(join(ROOT, 'docs/operations/inspect.md'), 'utf8').matchAll(
    /^```sh[^\n]*\n(nats context save [^`]*)```/gm,
  ),
].map(([, lines]) => lines!);
const REFUSED = /Permissions Violation for Publish to "([^"]+)"/;

/** A command, and patterns of its output. */
const SHOWN: readonly (readonly [string, readonly RegExp[]])[] = [
  ['micro ls', [/vouch-coordinator .* c1-\w{6} /, /vouch-shard .* s1-\w{6} /]],
  ['micro info vouch-shard', [/Service: vouch-shard \(s1-\w{6}\)/, /Subject: vouch\.c\.\*\.\*\.write/]],
  ['micro stats vouch-shard', [/ write +│ [1-9]/]],
  ['stream ls', [/ VOUCH_LOG_1 .* [1-9] +│/, / VOUCH_SERVICE_LOG /, / VOUCH_VAULT /]],
  ['stream info VOUCH_LOG_1', [/Subjects: vouch\.log\.1\.\*/, /Allows Msg Delete: false/, /Messages: [1-9]$/m]],
  ['kv ls', [/ vouch-catalog /, / vouch-keys /]],
  ['kv ls vouch-catalog', [/^default\.words$/m]],
  ['kv get vouch-owners 1 --raw', [/"shard":"s1".*"name":"words"/]],
  ['kv info vouch-owners', [/Bucket Name: vouch-owners/]],
];
/** A command, and the subject to which it may not send. */
const CHANGES: readonly (readonly [string, string])[] = [
  ['stream purge VOUCH_LOG_1 -f', 'vouch.api.STREAM.PURGE.VOUCH_LOG_1'],
  ['stream rmm VOUCH_LOG_1 1 -f', 'vouch.api.STREAM.MSG.DELETE.VOUCH_LOG_1'],
  ['stream rm KV_vouch-owners -f', 'vouch.api.STREAM.DELETE.KV_vouch-owners'],
  ['kv put vouch-owners 1 nobody', 'vouch.api.$KV.vouch-owners.1'],
  ['kv del vouch-owners 1 -f', 'vouch.api.$KV.vouch-owners.1'],
  ['kv purge vouch-owners 1 -f', 'vouch.api.$KV.vouch-owners.1'],
  ['kv add another', 'vouch.api.STREAM.CREATE.KV_another'],
];

describe('the nats command with the login of an operator', () => {
  let folder: string;
  let service: Launched;
  let program: string;
  let env: NodeJS.ProcessEnv;
  let client: Client;
  let messages: string | undefined;

  before(async function () {
    const found = findTool('nats');
    const version = found === undefined ? undefined : (await runTool(found, ['--version'])).stdout;
    if (found === undefined || !/^v?\d+\.\d+\.\d+/.test(version ?? ''))
      skip(this, 'the command nats is not installed: go install github.com/nats-io/natscli/nats@v0.1.5');
    program = found;
    folder = mkdtempSync(join(tmpdir(), 'vouch-cli-'));
    const port = await freePort();
    const settings = { VOUCH_DATA_DIR: join(folder, 'data'), VOUCH_PORT: String(port), VOUCH_SHARDS: '1' };
    const unset = { VOUCH_NATS_URL: undefined, VOUCH_REPLICAS: undefined, INIT_CWD: undefined };
    service = launchNode(START, [], { cwd: folder, env: { ...settings, ...unset } });
    await service.waitForLine(UP);
    env = {
      PATH: `${dirname(program)}${delimiter}${process.env.PATH}`,
      ...{ HOME: folder, XDG_CONFIG_HOME: join(folder, 'config') },
    };
    expect(LOGINS).to.have.length(2);
    for (const lines of LOGINS) {
      const { code, output } = await shell(lines);
      expect(code, output).to.equal(0);
    }
    client = new Client(`http://127.0.0.1:${port}`, readFileSync(join(folder, 'data/keys/default.key'), 'utf8').trim());
    await client.post('/v1/namespaces', { name: 'words', dimension: 2, metric: 'squared_l2' });
    expect((await client.post('/v1/records', { collection: 'words', values: [1, 2] })).status).to.equal(200);
    messages = await messagesOfLog();
    expect(Number(messages)).to.be.above(0);
  });

  after(async () => {
    await service?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  const shell = (script: string) => runTool('/bin/sh', ['-c', script], '', { cwd: folder, env });
  /** Function of the first login's lines, without saving the context again. */
  const functionOf = (lines: string): string => lines.split('\n').slice(1).join('\n');
  const run = (command: string) => shell(`${functionOf(LOGINS[0]!)}nats ${command} --timeout ${ANSWER_WITHIN}`);
  const messagesOfLog = async (): Promise<string | undefined> =>
    /Messages: (\d+)$/m.exec((await run('stream info VOUCH_LOG_1')).output)?.[1];

  for (const [command, expected] of SHOWN)
    it(`shows: nats ${command}`, async () => {
      const { code, output } = await run(command);
      expect(code, output).to.equal(0);
      for (const pattern of expected) expect(output).to.match(pattern);
    });

  it('shows each change as it happens: nats kv watch', async () => {
    const watch = launch('/bin/sh', ['-c', `exec nats --js-api-prefix vouch.api kv watch vouch-shards`], {
      cwd: folder,
      env,
    });
    try {
      const first = await watch.waitForLine(/PUT vouch-shards > s1: \{"session":/);
      await watch.waitForLine(/PUT vouch-shards > s1: /, { from: watch.lines.indexOf(first) + 1 });
    } finally {
      await watch.stop();
    }
  });

  for (const [command, subject] of CHANGES)
    it(`refuses: nats ${command}`, async () => {
      const before = await run('kv get vouch-owners 1 --raw');
      const { code, output } = await run(command);
      expect(code, output).to.not.equal(0);
      expect(REFUSED.exec(output)?.[1], output).to.equal(subject);
      expect((await run('kv get vouch-owners 1 --raw')).output).to.equal(before.output);
    });

  it('lets the login admin write to a bucket', async () => {
    const admin = (command: string) => shell(`${functionOf(LOGINS[1]!)}admin ${command} --timeout ${ANSWER_WITHIN}`);
    const put = await admin('kv put vouch-watermarks of-a-test {}');
    expect(put.code, put.output).to.equal(0);
    expect((await run('kv get vouch-watermarks of-a-test --raw')).stdout.trim()).to.equal('{}');
    const removed = await admin('kv del vouch-watermarks of-a-test -f');
    expect(removed.code, removed.output).to.equal(0);
  });

  it('leaves everything unchanged', async () => {
    expect(await messagesOfLog()).to.equal(messages);
    expect((await run('stream ls --names --all')).output).to.not.include('another');
    await eventually('a search is answered', async () => {
      const { status, body } = await client.post('/v1/search', { collection: 'words', query: [1, 2], k: 1 });
      return status === 200 && body.results.length === 1;
    });
  });
});
