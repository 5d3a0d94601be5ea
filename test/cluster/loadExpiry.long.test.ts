/** `npm run load` of rows that expire. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { runLoad, succeeded } from '../support/launch/commands.js';
import { loadRig } from '../support/launch/loadRig.js';

const FAR = 4_102_444_800;

describe('npm run load of rows that expire', () => {
  const { at, file } = loadRig();
  const refusalOf = async (path: string, options: readonly string[], code = 1): Promise<string> => {
    const command = runLoad(at, path, 'brief', options);
    expect((await command.waitForEnd()).code, command.output).to.equal(code);
    return command.output;
  };

  it('gives records their expiry or the life of the collection, and rejects a bad expiry with its reason', async () => {
    const rows = [`0,${FAR}`, '1,2100-01-01T00:00:00Z', '2,', '3,soon', '4,1700000000'];
    const path = await file('csv', ['vector,until', ...rows].join('\n'));
    const rejects = await file('jsonl', '');
    const options = ['--create', '--ttl-secs', '3600', '--expires-at', 'until', '--rejects', rejects];
    await succeeded(runLoad(at, path, 'brief', options));
    const { records } = (await at.rw.get('/v1/records?collection=brief&with=vector')).body;
    const expiryOf = (first: number): number =>
      records.find(({ vector }: { vector: number[] }) => vector[0] === first).expires_at;
    expect([expiryOf(0), expiryOf(1)]).to.deep.equal([FAR, FAR]);
    expect(expiryOf(2)).to.be.within(1_700_000_000, FAR - 1);
    expect(records).to.have.length(3);
    const reasons = (await readFile(rejects, 'utf8')).trim().split('\n');
    expect(reasons.map((line) => JSON.parse(line))).to.deep.equal([
      {
        row: 4,
        reason:
          'until holds "soon", which is neither whole unix seconds nor an instant with its zone, such as 2030-01-31T12:00:00Z',
      },
      { row: 5, reason: 'until holds "1700000000", which has passed' },
    ]);
    expect((await at.rw.get('/v1/namespaces/brief')).body.ttl_secs).to.equal(3_600);
  });

  it('refuses another life than that of the collection, one that is not whole seconds, and a missing field', async () => {
    const path = await file('csv', 'vector,until\n1,');
    await succeeded(runLoad(at, path, 'brief', ['--create']));
    expect(await refusalOf(path, ['--create', '--ttl-secs', '60'])).to.include(
      'brief was made without --ttl-secs 60, which cannot change: load into another collection',
    );
    for (const wrong of ['0', '1.5', 'day', '3155760001'])
      expect(await refusalOf(path, ['--create', '--ttl-secs', wrong], 2)).to.include(
        `--ttl-secs is ${wrong}; allowed are whole seconds, 1 to 3155760000`,
      );
    expect(await refusalOf(path, ['--ttl-secs', '60'], 2)).to.include('--ttl-secs needs --create');
    const other = await file('csv', 'vector,until\n2,');
    expect(await refusalOf(other, ['--expires-at', 'til'])).to.include(
      'it has no til, which --expires-at names; its fields are vector, until',
    );
  });
});
