/** Runs every command of some pages, in order in one shell, against a service started by `npm start`. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../launch/freePort.js';
import { type Launched, launch, launchNode } from '../launch/process.js';
import { pageAt, type ShellBlock, shellBlocks } from '../pages.js';
import { ROOT } from '../sourceTree.js';

const END = '__end_of_block__';
/** Printed by `npm start` when it serves. */
const WELCOME = /Ctrl-C/;
/** Pages with commands, in reading order: each may use the results of those before it. The README needs none. */
export const READING_ORDER = [
  ...[
    'tour',
    'search',
    'api',
    'changes',
    'indexes',
    'proofs',
    'accountability',
    'encryption',
    'erasure',
    'operations/backup',
    'operations/security',
  ],
  ...['operations/supply-chain', 'loading'],
].map((name) => `docs/${name}.md`);

interface Step extends ShellBlock {
  readonly page: string;
}

export const stepsOf = (pages: readonly string[]): Step[] =>
  pages.flatMap((page) =>
    shellBlocks(pageAt(page))
      .filter(({ notRun }) => notRun === undefined)
      .map((block) => ({ ...block, page })),
  );

/** Removes what differs between runs. */
const masked = (text: string): string =>
  text
    .replace(/\b[0-9a-f]{64}\b/g, '<hash>')
    .replace(/"decay_factor":[\d.]+/g, '"decay_factor":<factor>')
    .replace(/\b[0-9a-f]{16}\b/g, '<id>')
    .replace(/\b[0-9a-f]{12}-[0-9a-z]+\b/g, '<request>')
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>')
    .replace(/"build_progress":[\d.]+/g, '"build_progress":<share>')
    .replace(/^1\d{12}$/gm, '<milliseconds>')
    // Events hold request ids, whose length grows.
    .replace(/"(event_log_bytes|total_bytes|log)":\d+/g, '"$1":<bytes>')
    .replace(/("log":<bytes>,"total":)\d+/g, '$1<bytes>')
    .replace(/\bbyte [\d,]+ of\b/g, 'byte <place> of')
    .replace(/\(\d+\.\d s(?:, [\d,]+ a second)?\)/g, '(<speed>)')
    .replace(/\S+(?=\/data\/master\.key)/g, '<folder>')
    // Other tests of this checkout set up too.
    .replace(/^ {2}set-up +waiting for another set-up .*\n/gm, '')
    // On a terminal it is a progress bar, which vanishes at the end.
    .replace(/^ {2}\w+ +[\d,]+ of [\d,]+ (events|bytes|rows)\n/gm, '')
    .replace(/\b[\d,]+ bytes\b/g, '<bytes>')
    .replace(/"proof":"[\w-]+"/g, '"proof":"<proof>"')
    .replace(/"(timestamp|timestamp_unix|as_of_timestamp|build_started_at|since)":\d+/g, '"$1":<time>')
    // Health counts by heartbeat, up to a second late.
    .replace(/("status":"ok".*"records":)\d+/g, '$1<count>')
    .trim();

/** `npm run` itself for the first use of each name; for later ones, the program that it starts. */
function runOnceByNpm(): (command: string, name: string) => string {
  const seen = new Set<string>();
  return (command, name) => {
    if (seen.has(name)) return `node '${join(ROOT, `dist/scripts/${name}.js`)}'`;
    seen.add(name);
    return command.replace('npm run', `npm --prefix '${ROOT}' run`);
  };
}

/** Registers a suite that runs all commands of some pages. */
export function describeCommands(title: string, pages: readonly string[]): void {
  describe(`the commands of ${title}`, () => {
    let folder: string;
    let service: Launched;
    const steps = stepsOf(pages);
    let outputs: string[];

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'vouch-pages-'));
      await cp(join(ROOT, 'docs', 'examples'), join(folder, 'docs', 'examples'), { recursive: true });
      const port = await freePort();
      // Readers are slower than the rate limits.
      const limits = { VOUCH_RATE_LIMITS: 'off' };
      const env = {
        VOUCH_PORT: String(port),
        VOUCH_DATA_DIR: join(folder, 'data'),
        VOUCH_LOG_LEVEL: 'info',
        ...limits,
      };
      service = launchNode(join(ROOT, 'dist/scripts/start.js'), [], { cwd: ROOT, env });
      await service.waitForLine(WELCOME);
      const blocks = steps.map(({ commands }) => `${commands}\necho "${END} $?"`);
      // One stream for both, because two could be read in any order.
      const script = ['exec 2>&1', ...blocks].join('\n');
      const here = script.replaceAll(/npm run (\w+) --silent(?: --)?/g, runOnceByNpm());
      const shell = launch('bash', ['-c', here], { cwd: folder, env: { ...env, INIT_CWD: undefined } });
      await shell.waitForEnd();
      outputs = shell.output.split(new RegExp(`^${END} `, 'm'));
    });

    after(async () => {
      await service?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    it('all succeed', () => {
      expect(outputs).to.have.length(steps.length + 1);
      steps.forEach(({ page, commands }, i) => {
        expect(outputs[i + 1]?.split('\n')[0], `exit code in ${page} of\n${commands}`).to.equal('0');
      });
    });

    it('print what the page shows', () => {
      steps.forEach(({ page, commands, output }, i) => {
        if (output === undefined) return;
        const printed = outputs[i]?.replace(/^\d+\n/, '') ?? '';
        expect(masked(printed), `${page}\n${commands}`).to.equal(masked(output));
      });
    });
  });
}
