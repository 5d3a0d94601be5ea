/** Rules of plain English, held by figures that may only go down. */
import { expect } from 'chai';
import {
  findProse,
  PROSE_GROUPS,
  PROSE_RULES,
  type ProseGroup,
  type ProseRule,
  rulesBrokenBy,
} from './support/prose.js';
import { filesBelow, SOURCE_FOLDERS } from './support/sourceTree.js';

/** The findings of today: fewer are welcome, and then the figure goes down with them. */
const FINDINGS_TODAY: Readonly<Record<ProseGroup, Readonly<Record<ProseRule, number>>>> = {
  product: { standIn: 0, oddWord: 0, longSentence: 0 },
  tests: { standIn: 0, oddWord: 0, longSentence: 0 },
  pages: { standIn: 0, oddWord: 1, longSentence: 27 },
};

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
      it(`${group} break the rule ${rule} no more often than before`, () => {
        const places = findings.filter((one) => one.group === group && one.rule === rule).map(({ place }) => place);
        const most = FINDINGS_TODAY[group][rule];
        expect(places.length, `${places.length} places, at most ${most}:\n${places.join('\n')}`).to.be.at.most(most);
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
