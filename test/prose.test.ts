/** Rules of plain English. No comment, title or page breaks one. */
import { expect } from 'chai';
import { findProse, PROSE_GROUPS, PROSE_RULES, type ProseRule, rulesBrokenBy } from './support/prose.js';
import { filesBelow, SOURCE_FOLDERS } from './support/sourceTree.js';

/** Made at the build, from the types of the API. */
const GENERATED = 'client/contract/';

const PAGES = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];

describe('prose', () => {
  const paths = [
    ...SOURCE_FOLDERS.flatMap((folder) => ['.ts', '.tsx', '.mjs'].flatMap((ending) => filesBelow(folder, ending))),
    ...[...PAGES, ...['docs', 'deploy', 'client'].flatMap((folder) => filesBelow(folder, '.md'))],
  ];
  const findings = findProse(paths.filter((path) => !path.startsWith(GENERATED)));

  for (const group of PROSE_GROUPS)
    for (const rule of PROSE_RULES)
      it(`no sentence of the ${group} breaks the rule ${rule}`, () => {
        const places = findings.filter((one) => one.group === group && one.rule === rule).map(({ place }) => place);
        expect(places, places.join('\n')).to.deep.equal([]);
      });

  it('each rule finds its kind of sentence, and plain sentences pass', () => {
    const rules = (text: string): ProseRule[] => rulesBrokenBy({ kind: 'comment', text });
    expect(rules('Of the entries there are, the newest.')).to.deep.equal(['standIn']);
    expect(rules('The shard hears of it.')).to.deep.equal(['oddWord']);
    expect(rules(`The ${'very '.repeat(25)}long sentence.`)).to.deep.equal(['longSentence']);
    expect(rules('Milliseconds per request: the median of several runs. Null where none was measured.')).to.deep.equal(
      [],
    );
    expect(rules('Whether `told` is a name in code.')).to.deep.equal([]);
  });
});
