import { expect } from 'chai';
import { parseProcessFlags } from '../../../../shared/process/processFlags.js';
import { launch, launchNode } from '../../../support/launch/process.js';

const COMMANDS = [
  'scripts/start',
  'scripts/standalone',
  'scripts/cluster',
  'scripts/keys',
  'scripts/verify',
  'scripts/export',
  'scripts/import',
  'scripts/demo',
  'bench/main',
  'test/soak/main',
  'test/fuzz/main',
  'shard/main',
  'coordinator/main',
];

interface Answer {
  readonly command: string;
  readonly code: number | null;
  readonly lines: readonly string[];
}

const answers = (...args: string[]): Promise<Answer[]> =>
  Promise.all(
    COMMANDS.map(async (command) => {
      const launched = launchNode(new URL(`../../../../${command}.js`, import.meta.url).pathname, args);
      const { code } = await launched.waitForEnd();
      return { command, code, lines: launched.lines };
    }),
  );

describe('every command', () => {
  it('answers --help with what it takes', async () => {
    for (const { command, code, lines } of await answers('--help')) {
      expect(code, command).to.equal(0);
      expect(lines[0], command).to.match(/^npm (?:start|run \w+)/);
    }
  });

  it('refuses an argument that it does not know, in one line, and starts nothing', async () => {
    for (const { command, code, lines } of await answers('--colour')) {
      expect(code, command).to.equal(2);
      expect(lines[0], command).to.match(/Unknown option '--colour'(?:$|; npm run)/);
      expect(lines.join('\n'), command).not.to.match(/^ +at /m);
    }
  });

  it('ends without a word where nobody reads on', async () => {
    const verify = new URL('../../../../scripts/verify.js', import.meta.url).pathname;
    const unread = launch('bash', ['-o', 'pipefail', '-c', '"$0" "$1" --help | true', process.execPath, verify]);
    expect(await unread.waitForEnd()).to.deep.equal({ code: 141, signal: null });
    expect(unread.output).to.equal('');
  });
});

describe('the command line of a server process', () => {
  it('holds its name and where NATS is', () => {
    expect(parseProcessFlags([])).to.deep.equal({ name: undefined, nats: undefined });
    expect(parseProcessFlags(['--name', 's-1_b', '--nats=nats://h:4222'])).to.deep.equal({
      name: 's-1_b',
      nats: 'nats://h:4222',
    });
  });

  it('is refused in one line where the name would not fit a subject, or something else is in it', () => {
    for (const name of ['a b', 'a.b', '', '*', 'é', 'x'.repeat(65)])
      expect(() => parseProcessFlags(['--name', name])).to.throw(
        /^--name is ".*"; allowed are 1 to 64 of A-Z a-z 0-9 _ -$/,
      );
    expect(() => parseProcessFlags(['extra'])).to.throw(/^Unexpected argument 'extra'$/);
    expect(() => parseProcessFlags(['--name'])).to.throw(/^Option '--name <value>' argument missing$/);
  });
});
