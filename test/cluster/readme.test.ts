/** Every command of the README, run in order in one shell against a service that `npm start` has started. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { freePort } from '../support/freePort.js';
import { type Launched, launch, launchNode } from '../support/process.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const END = '__end_of_block__';
/** What `npm start` prints when it serves. */
const WELCOME = /Ctrl-C/;
/** Run by the test that starts the service, by this very run, or by `.ci/run`. */
const RUN_ELSEWHERE = /^npm (start|test|run (check|lint|format|cluster))\b/;

interface Session {
  readonly commands: string;
  /** What the README says they print, in a block directly below, where it says so. */
  readonly output: string | undefined;
}

const sessionsOf = (markdown: string): Session[] =>
  [...markdown.matchAll(/^```sh\n(.*?)^```\n(?:\s*^```text\n(.*?)^```)?/gms)].map(([, commands = '', output]) => ({
    commands,
    output,
  }));

const isRunElsewhere = ({ commands }: Session): boolean =>
  commands
    .trim()
    .split('\n')
    .every((line) => RUN_ELSEWHERE.test(line));

/** Leaves out what differs from run to run. */
const masked = (text: string): string =>
  text
    .replace(/\b[0-9a-f]{64}\b/g, '<hash>')
    .replace(/"decay_factor":[\d.]+/g, '"decay_factor":<factor>')
    .replace(/\b[0-9a-f]{16}\b/g, '<id>')
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>')
    .replace(/^1\d{12}$/gm, '<milliseconds>')
    .replace(/\(\d+\.\d s, [\d,]+ a second\)/g, '(<speed>)')
    .replace(/\S+(?=\/data\/master\.key)/g, '<folder>')
    // On a terminal it is a bar, and gone when the work is done.
    .replace(/^ {2}\w+ +[\d,]+ of [\d,]+ (events|bytes)\n/gm, '')
    .replace(/"proof":"[\w-]+"/g, '"proof":"<proof>"')
    .replace(/"(timestamp|timestamp_unix|as_of_timestamp|build_started_at|since)":\d+/g, '"$1":<time>')
    // Health counts by heartbeat, up to a second late.
    .replace(/("status":"ok".*"records":)\d+/g, '$1<count>')
    .trim();

describe('the README', function () {
  this.timeout(120_000);
  let folder: string;
  let service: Launched;
  let sessions: Session[];
  let outputs: string[];

  before(async () => {
    const readme = await readFile(join(root, 'README.md'), 'utf8');
    sessions = sessionsOf(readme).filter((session) => !isRunElsewhere(session));
    folder = await mkdtemp(join(tmpdir(), 'vouch-readme-'));
    const port = await freePort();
    // A reader takes longer over it than the rate limits ask for.
    const limits = { VOUCH_RATE_LIMITS: 'off' };
    const env = { VOUCH_PORT: String(port), VOUCH_DATA_DIR: join(folder, 'data'), VOUCH_LOG_LEVEL: 'info', ...limits };
    service = launchNode(join(root, 'dist/scripts/start.js'), [], { cwd: root, env });
    await service.waitForLine(WELCOME, { timeoutMs: 60_000 });
    const blocks = sessions.map(({ commands }) => `${commands}\necho "${END} $?"`);
    // Into one stream, or what a command says and what it answers are read in any order.
    const script = ['exec 2>&1', ...blocks].join('\n');
    const here = script
      .replaceAll('http://127.0.0.1:8080', `http://127.0.0.1:${port}`)
      .replaceAll('npm run', `npm --prefix '${root}' run`);
    const shell = launch('bash', ['-c', here], { cwd: folder, env });
    await shell.waitForEnd(90_000);
    outputs = shell.output.split(new RegExp(`^${END} `, 'm'));
  });

  after(async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('has commands that all end well', () => {
    expect(sessions.length).to.be.above(8);
    expect(outputs).to.have.length(sessions.length + 1);
    sessions.forEach(({ commands }, i) => {
      expect(outputs[i + 1]?.split('\n')[0], `exit code of\n${commands}`).to.equal('0');
    });
  });

  it('shows what they really print', () => {
    sessions.forEach(({ commands, output }, i) => {
      if (output === undefined) return;
      const printed = outputs[i]?.replace(/^\d+\n/, '') ?? '';
      expect(masked(printed), commands).to.equal(masked(output));
    });
  });
});
