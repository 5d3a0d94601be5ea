import { expect } from 'chai';
import { JsonWriter, jsonInSteps } from '../../../../coordinator/http/jsonWriter.js';
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

  const inSteps = (value: object): { readonly text: string; readonly steps: number } => {
    const writing = jsonInSteps(value);
    let steps = 1;
    for (;;) {
      const step = writing.next();
      if (step.done) return { text: Buffer.from(step.value.body as string).toString(), steps };
      steps++;
    }
  };

  it('equals that of JSON.stringify at any depth', () => {
    const few = { id: 1, text: 'é"', none: null, absent: undefined, empty: [], ['a "name"']: [[], {}] };
    const many = Array.from({ length: 300 }, (_, i) =>
      i % 7 === 0 ? Array.from({ length: i }, () => few) : { i, few },
    );
    for (const value of [{}, few, { many }, { few, many: [{ many }, few, 3, null, 'x'] }, [many, many]])
      expect(inSteps(value).text).to.equal(JSON.stringify(value));
  });

  it('takes more steps for larger items, wherever their list is', () => {
    const contents = Array.from({ length: 1_000 }, (_, i) => ({ i, proof: 'f'.repeat(2_000) }));
    expect(inSteps({ certificates: [{ collections: [{ contents }] }] }).steps).to.be.greaterThan(60);
    expect(inSteps({ ids: Array.from({ length: 10_000 }, (_, i) => i) }).steps).to.be.within(30, 60);
  });
});
