/** `npm run load` of rows that are put under vault keys. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { runLoad, succeeded } from '../support/launch/commands.js';
import { loadRig } from '../support/launch/loadRig.js';

const KEY = 'a'.repeat(32);

describe('npm run load of rows under keys', () => {
  const { at, file } = loadRig();

  it('puts records under the keys of their rows, or under fresh ones, and rejects a bad key', async () => {
    const path = await file('csv', ['vector,person', `0,${KEY}`, '1,new', '2,', '3,Ada'].join('\n'));
    const rejects = await file('jsonl', '');
    const options = ['--create', '--erasable', '--key-id', 'person', '--rejects', rejects];
    await succeeded(runLoad(at, path, 'people', options));
    const keys = [];
    for (const id of [1, 2, 3]) keys.push((await at.rw.get(`/v1/records/${id}?collection=people`)).body.key_id);
    expect(keys[0]).to.equal(KEY);
    expect(new Set(keys).size).to.equal(3);
    expect(JSON.parse(await readFile(rejects, 'utf8'))).to.deep.equal({
      row: 4,
      reason: 'person holds "Ada", which is neither a key id of 32 lowercase hex digits nor new',
    });
    expect((await at.rw.get('/v1/namespaces/people')).body.erasable).to.equal(true);
  });

  it('rejects a row without the field of its key, and takes null for no key', async () => {
    const rows = [{ vector: [0] }, { vector: [1], person: null }, { vector: [2], person: KEY }];
    const path = await file('jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
    const rejects = await file('jsonl', '');
    await succeeded(runLoad(at, path, 'people', ['--create', '--key-id', 'person', '--rejects', rejects]));
    const { records } = (await at.rw.get('/v1/records?collection=people')).body;
    expect(records.map((record: { key_id?: string }) => record.key_id)).to.deep.equal([undefined, KEY]);
    expect(JSON.parse(await readFile(rejects, 'utf8'))).to.deep.equal({
      row: 1,
      reason: 'it has no person, which --key-id names; null there puts it under no key',
    });
  });

  it('refuses --erasable for a collection that was made without it', async () => {
    const path = await file('csv', 'vector\n1');
    await succeeded(runLoad(at, path, 'people', ['--create']));
    const command = runLoad(at, path, 'people', ['--create', '--erasable']);
    expect((await command.waitForEnd()).code, command.output).to.equal(1);
    expect(command.output).to.include('people was made without --erasable, which cannot change');
  });
});
