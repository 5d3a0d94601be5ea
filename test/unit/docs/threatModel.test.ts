// Covers: SECURITY.md
/** The threat model of SECURITY.md: each thing that an attacker cannot do names the test that tries it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { pageAt, SECURITY } from '../../support/pages.js';
import { ROOT } from '../../support/sourceTree.js';

const LINK = /\[([^\]]+)\]\((test\/[\w./]+)\)/g;
/** Attackers that the model must cover. */
const ATTACKERS = [
  ...['a stranger on the network', 'another user of the machine', 'a stranger in the NATS network'],
  ...['the role *coordinator* in NATS', 'the role *shard* in NATS', 'the role *operator* in NATS'],
  ...['metrics', 'read_only', 'read_write'].map((scope) => `a client with scope \`${scope}\``),
  ...['an operator without the master key', 'a thief of the disks', 'a thief of a backup', 'a malicious shard machine'],
];

describe('the threat model', () => {
  const rows = [...pageAt(SECURITY).text.matchAll(/^\|([^|]*)\|[^|]*\|(.*)\|$/gm)]
    .map(([, who = '', cannot = '']) => ({ who: who.trim(), cannot: cannot.trim() }))
    // Skips the two header lines.
    .slice(2);

  it('covers every attacker', () => {
    expect(ATTACKERS.filter((attacker) => !rows.some(({ who }) => who.includes(`**${attacker}**`)))).to.deep.equal([]);
  });

  it('names a test for each thing that cannot be done, by its file and title', () => {
    const wrong = rows.flatMap(({ who, cannot }) => {
      const tests = [...cannot.matchAll(LINK)].map(([, title = '', path = '']) => ({ title, path }));
      if (tests.length === 0) return [`${who}: ${cannot} names no test`];
      return tests
        .filter(({ title, path }) => {
          const file = join(ROOT, path);
          const begins = [`it('${title}'`, `it(atLength('${title}')`];
          return !existsSync(file) || !begins.some((begin) => readFileSync(file, 'utf8').includes(begin));
        })
        .map(({ title, path }) => `${path} has no test "${title}"`);
    });
    expect(wrong).to.deep.equal([]);
    expect(rows.length).to.be.above(20);
  });
});
