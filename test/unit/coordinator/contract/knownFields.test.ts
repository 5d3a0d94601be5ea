// Covers: coordinator/contract/knownFields.ts, coordinator/contract/acceptedFields.ts, coordinator/contract/otherNames.ts
// Covers: coordinator/contract/spelling.ts, coordinator/contract/schemas.ts
import { expect } from 'chai';
import { ACCEPTED_FIELDS, REFUSED_FIELDS } from '../../../../coordinator/contract/acceptedFields.js';
import { assertKnownFields, namesOf } from '../../../../coordinator/contract/knownFields.js';
import { OTHER_NAMES } from '../../../../coordinator/contract/otherNames.js';
import { type SchemaName, schemas } from '../../../../coordinator/contract/schemas.js';
import { meantBy } from '../../../../coordinator/contract/spelling.js';

const REQUESTS = Object.keys(schemas).filter((name) =>
  /(?:Request|Query|Reference|Options)$/.test(name),
) as SchemaName[];

/** Fields of a search that are objects. */
const OBJECTS = ['graph_rerank', 'hybrid', 'metadata_filter'];

describe('the known fields of requests', () => {
  it('include every field that the tables of other names advise', () => {
    const known = new Set(REQUESTS.flatMap(namesOf));
    expect(Object.keys(OTHER_NAMES).filter((name) => !known.has(name))).to.deep.equal([]);
    for (const names of Object.values(OTHER_NAMES)) for (const name of names) expect(name).to.match(/^[a-z0-9]+$/);
    for (const table of [ACCEPTED_FIELDS, REFUSED_FIELDS])
      for (const [request, fields] of Object.entries(table))
        for (const field of Object.keys(fields)) expect(namesOf(request as SchemaName)).not.to.include(field);
  });

  it('are suggested for names with one slip, in another case, or from other systems', () => {
    const search = namesOf('SearchRequest');
    for (const [name, meant] of Object.entries({
      ...{
        filter: 'metadata_filter',
        where: 'metadata_filter',
        vector: 'query',
        topK: 'k',
        n_results: 'k',
        limit: 'k',
      },
      ...{ namespace: 'collection', index_name: 'collection', metadataFilter: 'metadata_filter', QUERY: 'query' },
      ...{
        metadata_fitler: 'metadata_filter',
        qeury: 'query',
        asOf: 'as_of',
        include: 'with',
        'score-treshold': 'score_threshold',
      },
    }))
      expect(meantBy(name, search), name).to.equal(meant);
    for (const name of ['x', 'kk', 'unheard_of', '', '__proto__', 'constructor', 'toString', 'q'.repeat(65)])
      expect(meantBy(name, search), name).to.equal(undefined);
  });

  it("do not restrict the caller's own names: index parameters, metadata and filters", () => {
    const any = { whatever: { whatever: 1 } };
    assertKnownFields('ConfigureIndexRequest', { type: 'hnsw', parameters: any });
    assertKnownFields('BeginImportRequest', { index: { type: 'hnsw', parameters: any } });
    assertKnownFields('SearchBatchRequest', { searches: [{ metadata_filter: any }] });
    assertKnownFields('BatchInsertRequest', { metadata: [any, null] });
    assertKnownFields('JsonObject', any);
  });

  it('have values that are not checked, except objects of known fields', () => {
    for (const field of namesOf('SearchRequest').filter((name) => !OBJECTS.includes(name)))
      assertKnownFields('SearchRequest', { [field]: [{ unheard_of: 1 }] });
    for (const body of [null, 1, 'x']) assertKnownFields('SearchRequest', body);
  });

  it('belong to objects: an array in place of an object is refused with its path', () => {
    for (const request of REQUESTS)
      expect(() => assertKnownFields(request, []), request).to.throw('$: expected a JSON object, got an array of 0');
    const refused: readonly [SchemaName, object, string][] = [
      ...OBJECTS.map((name): [SchemaName, object, string] => ['SearchRequest', { [name]: [1] }, name]),
      ['SearchBatchRequest', { searches: [{}, [1]] }, 'searches[1]'],
      ['SearchBatchRequest', { searches: [{ metadata_filter: [1] }] }, 'searches[0].metadata_filter'],
      ['ConfigureIndexRequest', { parameters: [1] }, 'parameters'],
      ['CreateEdgeRequest', [1], ''],
    ];
    for (const [request, body, path] of refused) {
      const place = path === '' ? '$: expected a JSON object' : `$.${path}: expected an object`;
      expect(() => assertKnownFields(request, body), path).to.throw(`${place}, got an array of 1`);
    }
  });
});
