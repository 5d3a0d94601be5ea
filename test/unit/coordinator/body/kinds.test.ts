import { expect } from 'chai';
import { BODY_KINDS, type BodyKind, prepareBody } from '../../../../coordinator/body/kinds.js';

const BOUNDS = { metadataBytes: 1_000, textBytes: 1_000, payloadBytes: 1_000, batchVectors: 10, commitBytes: 1_000 };
const KINDS = (Object.keys(BODY_KINDS) as BodyKind[]).filter((kind) => BODY_KINDS[kind].schema !== 'bytes');

describe('a body that is not a JSON object', () => {
  for (const [json, got] of [
    ['[]', 'an array of 0'],
    ['[[1]]', 'an array of 1'],
    ['"x"', '"x"'],
    ['null', 'null'],
    ['1.5', '1.5'],
    ['true', 'true'],
  ] as const)
    it(`is refused by every endpoint with its actual type: ${json}`, () => {
      for (const kind of KINDS)
        expect(() => prepareBody(kind, { form: 'json', bytes: Buffer.from(json) }, BOUNDS), kind).to.throw(
          kind === 'insertEncrypted' && !json.startsWith('[')
            ? /^\$: expected a JSON object$/
            : `$: expected a JSON object, got ${got}`,
        );
    });
});
