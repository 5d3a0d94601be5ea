import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { verifyCheckpoint } from '../../scripts/verifier/checkpoint.js';
import { verifyConsistency, verifyInclusion } from '../../scripts/verifier/logProofs.js';
import { verifyReceipt, type WriteReceipt } from '../../scripts/verifier/receipt.js';
import { decodeEvent } from '../../shared/log/eventReader.js';
import { formatExamples } from '../support/formatExamples.js';
import { ROOT, readSources } from '../support/sourceTree.js';

const document = readFileSync(join(ROOT, 'shared', 'FORMATS.md'), 'utf8');

/** Under `### title`, a block. */
function documented(title: string): string | undefined {
  const at = document.indexOf(`\n### ${title}\n\n\`\`\`\n`);
  if (at < 0) return undefined;
  const from = document.indexOf('```\n', at) + 4;
  return document.slice(from, document.indexOf('\n```', from)).replaceAll('\n', '');
}

describe('the formats', () => {
  it('are documented with examples that are true', async () => {
    const examples = await formatExamples();
    for (const { title, text } of examples) expect(documented(title), title).to.equal(text);
    const below = document.slice(document.indexOf('\n## Examples\n'));
    expect([...below.matchAll(/^### /gm)]).to.have.length(examples.length);
  });

  it('in the examples are those of the engine and of the verifier', async () => {
    for (const { title, text } of await formatExamples()) {
      if (title.startsWith('event ') && title.includes(',')) {
        const { sequence } = decodeEvent(Buffer.from(text, 'hex'));
        expect(title).to.match(new RegExp(`^event ${sequence},`));
      }
      if (!text.startsWith('{')) continue;
      const json: unknown = JSON.parse(text);
      if (title.startsWith('receipt')) expect(verifyReceipt(json as WriteReceipt), title).to.deep.equal([]);
      if (title.startsWith('inclusion')) verifyInclusion(json);
      if (title.startsWith('consistency')) verifyConsistency(json);
      if (title.startsWith('checkpoint')) verifyCheckpoint(json);
    }
  });

  it('are read by the verifier with code of its own: it shares the hash with the engine, and what a terminal shows', () => {
    const shared = readSources()
      .filter(({ path }) => path.startsWith('scripts/verifier/') || path === 'scripts/verify.ts')
      .flatMap(({ path, imports }) => imports.map((imported) => ({ path, target: imported.path })))
      .filter(({ target }) => target !== undefined && !/^scripts\/(?:verifier|terminal)\//.test(target));
    expect(shared).to.deep.equal([]);
  });
});
