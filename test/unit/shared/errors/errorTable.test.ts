// Covers: scripts/docs/errorsPage.ts, shared/errors/errors.ts, shared/errors/overloaded.ts
/** The table of errors, its page, and the errors that the product makes. */
// Covers: shared/errors/, scripts/docs/errorsPage.ts
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { errorsPage } from '../../../../scripts/docs/errorsPage.js';
import { refusal } from '../../../../shared/errors/errors.js';
import { ERRORS, messageText } from '../../../../shared/errors/errorTable.js';
import { overloaded } from '../../../../shared/errors/overloaded.js';
import { filesBelow, ROOT } from '../../../support/sourceTree.js';

/** Codes whose messages are also made outside of the table. */
const OPEN = ['validation_error', 'internal_error', 'unavailable'];
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const sources = ['coordinator', 'shard', 'shared'].flatMap((folder) => filesBelow(folder, '.ts')).map(read);

describe('the table of errors', () => {
  it('is shown on its page', () => {
    expect(read('docs/errors.md'), 'npm run docs').to.equal(errorsPage());
  });

  it('gives each code a status from 400 to 599, a meaning and a remedy', () => {
    for (const [code, { status, meaning, remedy }] of Object.entries(ERRORS)) {
      expect(status, code).to.be.within(400, 599);
      expect(meaning, code).to.match(/^\S.*[^.]$/);
      expect(remedy, code).to.match(/^\S.*[^.]$/);
    }
  });

  it('has only messages that the product uses', () => {
    const made = sources.flatMap((text) =>
      [...text.matchAll(/(?:refusal|messageText)\(\s*'(\w+)',\s*'(\w+)'/g)].map(([, code, name]) => `${code} ${name}`),
    );
    const authenticate = read('coordinator/auth/authenticate.ts');
    const refused = [...authenticate.matchAll(/#refuse\(.*, '(\w+)'\)/g)].map(([, name]) => `unauthorized ${name}`);
    const listed = Object.entries(ERRORS).flatMap(([code, { messages }]) =>
      Object.keys(messages).map((name) => `${code} ${name}`),
    );
    expect(listed.filter((message) => !made.includes(message) && !refused.includes(message))).to.deep.equal([]);
  });

  it('has every message of a code, except of three codes', () => {
    const texts = sources.flatMap((text) => [...text.matchAll(/new VouchError\(\s*'(\w+)',\s*['`]/g)]);
    expect(texts.filter(([, code]) => !OPEN.includes(code!)).map(([made]) => made)).to.deep.equal([]);
    expect(texts.length).to.be.above(5);
  });

  it('puts values into a message, also values that look like a name', () => {
    const values = { path: '$.query', components: '2 components', collection: '{dimension}', dimension: 3 };
    expect(messageText('dimension_mismatch', 'vector', values)).to.equal(
      '$.query has 2 components; collection {dimension} has dimension 3',
    );
  });

  it('makes an error with code, status and message', () => {
    const error = refusal('record_not_found', 'record', { record: 7 });
    expect(error).to.include({ code: 'record_not_found', status: 404, retryAfterSecs: undefined });
    expect(error.message).to.equal('there is no record 7 in the collection');
  });

  it('gives a refusal because of load the status 503 and a Retry-After of one second', () => {
    expect(overloaded('calls')).to.include({ status: 503, retryAfterSecs: 1 });
  });
});
