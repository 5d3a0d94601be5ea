// Covers: docs/formats.md, shared/log/eventCodec.ts, verifier/receipt.ts, verifier/checkpoint.ts, verifier/logProofs.ts
// Covers: verifier/tree.ts
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { decodeEvent } from '../../../shared/log/eventCodec.js';
import { verifyCheckpoint } from '../../../verifier/checkpoint.js';
import { verifyConsistency, verifyInclusion } from '../../../verifier/logProofs.js';
import { verifyReceipt, type WriteReceipt } from '../../../verifier/receipt.js';
import { formatExamples } from '../../support/rigs/formatExamples.js';
import { ROOT, readSources } from '../../support/sourceTree.js';

const document = ['examples.md', 'contents.md']
  .map((page) => readFileSync(join(ROOT, 'docs', 'formats', page), 'utf8'))
  .join('\n');

/** Block under `## title`. */
function documented(title: string): string | undefined {
  const at = document.indexOf(`\n## ${title}\n\n\`\`\`\n`);
  if (at < 0) return undefined;
  const from = document.indexOf('```\n', at) + 4;
  return document.slice(from, document.indexOf('\n```', from)).replaceAll('\n', '');
}

describe('the formats', () => {
  it('are documented with examples that are current', async () => {
    const examples = await formatExamples();
    for (const { title, text } of examples) expect(documented(title), title).to.equal(text);
    expect([...document.matchAll(/^## /gm)]).to.have.length(examples.length);
  });

  it('have examples that the engine and the verifier can read', async () => {
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

  it('are read by the verifier with its own code, which shares only the hash function with the engine', () => {
    const foreign = (path: string, own: RegExp): string[] =>
      readSources(['verifier', 'scripts'])
        .filter((source) => source.path.startsWith(path))
        .flatMap(({ path: from, imports }) => imports.map(({ path: target }) => ({ from, target })))
        .filter(({ target }) => target !== undefined && !own.test(target))
        .map(({ from, target }) => `${from} imports ${target}`);
    expect(foreign('verifier/', /^verifier\//)).to.deep.equal([]);
    expect(foreign('scripts/verify', /^(?:verifier|scripts\/verify|scripts\/terminal)\//)).to.deep.equal([]);
  });
});
