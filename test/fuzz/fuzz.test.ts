/** A tenth of the cases of `fuzz.long.test.ts`, and what a page says of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../support/sourceTree.js';
import { describeFuzz } from './describeFuzz.js';
import { TARGETS } from './targets/all.js';

describeFuzz('briefly fuzzed', 1 / 10);

describe('the page for contributors', () => {
  it('lists every target of fuzzing with its cases', () => {
    const page = readFileSync(join(ROOT, 'docs', 'contributing.md'), 'utf8');
    const listed = [...page.matchAll(/^\| `(\w+)` \| ([\d,]+) \|/gm)].map(([, name, cases]) => `${name} ${cases}`);
    const rows = TARGETS.map(({ target, cases }) => `${target.name} ${cases.toLocaleString('en-US')}`);
    expect(listed).to.deep.equal(rows);
  });
});
