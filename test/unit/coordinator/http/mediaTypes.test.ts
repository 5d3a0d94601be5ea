import { expect } from 'chai';
import { acceptsPacked, mediaFlaw, weightOf } from '../../../../coordinator/http/mediaTypes.js';
import type { RequestHead } from '../../../../coordinator/http/requestHead.js';

const head = (contentType: string, contentEncoding = '') =>
  ({ contentType, contentEncoding, accept: '' }) as RequestHead;

describe('a media type', () => {
  it('is refused with its type, its charset or its coding as the reason', () => {
    const search = (type: string, coding?: string) => mediaFlaw(head(type, coding), 'search');
    expect(search('text/plain')).to.equal(
      'the body has the Content-Type "text/plain": send application/json or application/msgpack',
    );
    expect(mediaFlaw(head('application/msgpack'), 'createCollection')).to.equal(
      'the body has the Content-Type "application/msgpack": send application/json',
    );
    expect(search('application/json; charset=ISO-8859-1')).to.equal(
      'the body has the charset "iso-8859-1": send it in UTF-8',
    );
    expect(search('application/json', 'gzip')).to.equal(
      'the body has the Content-Encoding "gzip": send it uncompressed',
    );
    expect(mediaFlaw(head('application/json'), 'frames')).to.equal(
      'the body has the Content-Type "application/json": send application/octet-stream',
    );
    expect(mediaFlaw(head('application/octet-stream', 'br'), 'frames')).to.equal(
      'the body has the Content-Encoding "br": send it uncompressed',
    );
    expect(search(`text/${'x'.repeat(200)}`)!.length, 'a long one is cut').to.be.below(150);
  });

  it('is accepted in every spelling of an allowed one', () => {
    for (const type of [
      '',
      'application/json',
      'Application/JSON',
      'application/json;charset=utf-8',
      'application/msgpack',
    ])
      expect(mediaFlaw(head(type), 'search'), type).to.equal(undefined);
    expect(mediaFlaw(head('application/json; charset="UTF-8"', 'identity'), 'search')).to.equal(undefined);
    for (const type of ['', 'application/octet-stream', 'Application/Octet-Stream'])
      expect(mediaFlaw(head(type), 'frames'), type).to.equal(undefined);
  });

  it('has the weight that the client gives it', () => {
    expect(weightOf('gzip', 'br, GZip;q=0.25')).to.equal(0.25);
    expect(weightOf('gzip', 'br')).to.equal(undefined);
    expect(weightOf('gzip', 'x-gzip, gzip ; q=0')).to.equal(0);
    const accepts = (accept: string) => acceptsPacked({ accept } as RequestHead);
    expect([accepts('application/msgpack'), accepts('*/*, application/msgpack; q=0.1')]).to.deep.equal([true, true]);
    expect([accepts('application/msgpack;q=0.000'), accepts(''), accepts('application/json')]).to.deep.equal([
      ...[false, false, false],
    ]);
  });
});
