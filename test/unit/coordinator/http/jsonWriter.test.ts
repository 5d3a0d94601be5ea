import { expect } from 'chai';
import { JsonWriter } from '../../../../coordinator/http/jsonWriter.js';
import { atOnce } from '../../../../shared/scheduling/slice.js';

describe('a written JSON answer', () => {
  const written = (texts: readonly string[]) => {
    const writer = new JsonWriter();
    for (const text of texts) writer.write(text);
    return atOnce(writer.reply());
  };

  it('is a string while it is short', () => {
    expect(written(['["é', '"]'])).to.deep.equal({ status: 200, contentType: 'application/json', body: '["é"]' });
    expect(written([]).body).to.equal('');
  });

  it('is encoded during writing if it is long, to equal bytes', () => {
    const texts = Array.from({ length: 1_000 }, (_, i) => JSON.stringify(`é😀${i}`.repeat(200)));
    const { body } = written(texts);
    expect(body).to.be.instanceOf(Buffer);
    expect((body as Buffer).toString()).to.equal(texts.join(''));
  });
});
