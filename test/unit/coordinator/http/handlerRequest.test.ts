import { expect } from 'chai';
import type { Auditing } from '../../../../coordinator/http/auditing.js';
import { HandlerRequest, type Services } from '../../../../coordinator/http/handlerRequest.js';
import { refusal } from '../../../../shared/errors/errors.js';
import { expectCode } from '../../../support/expectations.js';

const caller = { keyId: 'k', project: 'p', scope: 'read_only', collections: null } as const;
const envelope = { requestId: 'r', deadlineMs: Number.POSITIVE_INFINITY };

/** A request whose collection `old` is deleted before it is called. */
function requestOf(): HandlerRequest {
  const backend = {
    find: async () => ({ id: 7, name: 'old' }),
    call: async () => {
      throw refusal('collection_not_found', 'named', { name: '"old"' });
    },
  };
  const given = { body: null, query: null, parameters: [], idempotencyKey: undefined, contentType: '' };
  const auditing = {} as Auditing;
  return new HandlerRequest({ backend } as unknown as Services, { ...given, caller, envelope, auditing }, (all) => all);
}

describe('a call to a collection that is deleted after it was found', () => {
  it('fails with 404 if the request named the collection', () =>
    expectCode(requestOf().callNamed('old', { op: 'checkpoint' }), 'collection_not_found'));

  it('fails with 503 if the request named an alias, also at another deadline', async () => {
    const request = requestOf();
    const error = await expectCode(request.callNamed('current', { op: 'checkpoint' }), 'unavailable');
    expect(error.message).to.equal('the collection of the alias "current" was replaced during the request; retry');
    await expectCode(request.until(0).call(await request.find('current'), { op: 'checkpoint' }), 'unavailable');
  });
});
