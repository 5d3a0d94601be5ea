/** The display of long openings in the terminal where the service was started. */
import { expect } from 'chai';
import { launch } from '../../../../support/launch/process.js';

const module = new URL('../../../../../scripts/local/supervisor/openingsShown.js', import.meta.url).href;

/** Output for these lines, each logged by the process before it. */
async function shown(
  lines: readonly (readonly [process: string, about: object])[],
  isTerminal = false,
): Promise<string> {
  const calls = lines.map(([process, about]) => {
    const line = JSON.stringify({ level: 30, component: process, ...about });
    return `openings.see(${JSON.stringify(process)}, ${JSON.stringify(line)});`;
  });
  const program = [
    `import { OpeningsShown } from '${module}';`,
    `process.stderr.isTTY = ${isTerminal};`,
    'const openings = new OpeningsShown();',
    ...calls,
    'openings.clear();',
  ];
  const launched = launch(process.execPath, ['--input-type=module', '-e', program.join('\n')]);
  await launched.waitForEnd();
  return launched.output;
}

const snapshot = (collection: number, records: number) => ({
  ...{ collection, records, of: 1_000_000, seconds: 1 },
  msg: 'opening a collection: reading its snapshot',
});
const log = (collection: number, sequence: number) => ({
  ...{ collection, sequence, of: 1_000_000, seconds: 2 },
  msg: 'opening a collection: reading its log',
});
const opened = (collection: number) => ({ collection, sequence: 1_000_000, seconds: 7.25, msg: 'opened a collection' });

describe('long openings', () => {
  it('print a few lines without a terminal, for one collection at a time, and each end', async () => {
    const output = await shown([
      ['s1', snapshot(7, 100_000)],
      ['s1', snapshot(7, 300_000)],
      ['s2', log(8, 500_000)],
      ['s1', snapshot(7, 350_000)],
      ['s1', snapshot(7, 990_000)],
      ['s1', log(7, 760_000)],
      ['s2', opened(8)],
      ['s1', opened(7)],
      ['s2', log(9, 500_000)],
    ]);
    expect(output.split('\n')).to.deep.equal([
      '  collection 7  300,000 of 1,000,000 records',
      '  collection 7  990,000 of 1,000,000 records',
      '  collection 7  760,000 of 1,000,000 events',
      '✔ collection 8  open with 1,000,000 events (7.3 s)',
      '✔ collection 7  open with 1,000,000 events (7.3 s)',
      '  collection 9  500,000 of 1,000,000 events',
    ]);
  });

  it('are a progress bar on a terminal, which disappears at the end', async () => {
    const output = await shown(
      [
        ['s1', log(7, 250_000)],
        ['s1', { collection: 7, seconds: 3, msg: 'opening a collection: failed' }],
      ],
      true,
    );
    expect(output).to.match(/collection 7 +█+░+ 25% {2}250000\/1000000 events/);
    expect(output).not.to.contain('✔');
  });

  it('print nothing for other log lines', async () => {
    const { msg, ...about } = log(7, 500_000);
    const others = [{ ...about, msg: 'open' }, { ...about, msg: `not ${msg}` }, { msg }, { msg, collection: '7' }];
    expect(await shown(others.map((line) => ['s1', line] as const))).to.equal('');
    expect(
      await shown([
        ['s1', { ...about, of: undefined, msg }],
        ['s1', { ...about, of: 1, msg }],
      ]),
    ).to.equal('');
  });
});
