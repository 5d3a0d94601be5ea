// Covers: scripts/mcp/
/** Schemas and sizes of the answers of `npm run mcp`, with real processes. */

import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { ANSWER_BYTES_MAX } from '../../scripts/mcp/fitted.js';
import { Mcp } from '../support/launch/mcp.js';
import { sharedService } from '../support/launch/modes.js';
import type { Project } from '../support/launch/service.js';
import { ROOT } from '../support/sourceTree.js';

type Node = Readonly<Record<string, unknown>>;

/**
 * Words of JSON Schema accepted in the tool interfaces of OpenAI (strict), Gemini (`FunctionDeclaration.parameters`)
 * and Anthropic. At least one of them refuses all other words, such as `anyOf`, `const`, `$ref`, `format`, `default`
 * and `propertyNames`.
 */
const ACCEPTED = new Set([
  ...['type', 'description', 'enum', 'properties', 'required', 'items'],
  ...['minimum', 'maximum', 'minItems', 'maxItems', 'pattern'],
]);
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean'];
/** The smallest limit of a description, which is OpenAI's. */
const DESCRIPTION_CHARS_MAX = 1_024;
const NAME = /^[a-z][a-z0-9_]{0,63}$/;

const childrenOf = ({ properties = {}, items }: Node): [name: string, node: Node][] => [
  ...Object.entries(properties as Record<string, Node>),
  ...(items === undefined ? [] : [['items', items as Node] satisfies [string, Node]]),
];

function assertAccepted(node: Node, path: string, isTyped: boolean): void {
  for (const word of Object.keys(node)) expect(ACCEPTED.has(word), `${word} in ${path}`).to.equal(true);
  if (isTyped || node.type !== undefined) expect(node.type, path).to.be.oneOf(TYPES);
  if (node.type === 'array') expect(node.items, path).to.be.an('object');
  if (node.enum !== undefined) for (const one of node.enum as unknown[]) expect(one, path).to.be.a('string');
  const names = Object.keys((node.properties ?? {}) as Node);
  for (const name of (node.required ?? []) as string[]) expect(names, path).to.include(name);
  for (const name of names) expect(name, path).to.match(NAME);
  for (const [name, child] of childrenOf(node)) assertAccepted(child, `${path}.${name}`, isTyped);
}

describe('answers of npm run mcp', () => {
  const service = sharedService('standalone');
  let project: Project;
  let mcp: Mcp;
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: false });
  const schemas = new Map<string, Node>();
  before(async () => {
    project = await service.newProject();
    const args = [join(ROOT, 'dist/scripts/mcp.js'), '--url', service.url, '--write'];
    mcp = await Mcp.start(process.execPath, args, project.rw.key!);
    for (const { name, outputSchema } of (await mcp.client.listTools()).tools) schemas.set(name, outputSchema as Node);
  });
  after(() => mcp.client.close());

  /** The structured answer equals the text, has at most the stated size, and fits the schema of the tool. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape right after reading it
  const ask = async (name: string, given: Record<string, unknown>, { client } = mcp): Promise<any> => {
    const { structuredContent, content, isError } = await client.callTool({ name, arguments: given });
    const [{ text }] = content as unknown as [{ text: string }];
    expect(isError ?? false, text).to.equal(false);
    expect(Buffer.byteLength(text)).to.be.at.most(ANSWER_BYTES_MAX);
    expect(JSON.parse(text)).to.deep.equal(structuredContent);
    const isValid = ajv.validate(schemas.get(name)!, structuredContent);
    expect(isValid, `${name}: ${ajv.errorsText()}`).to.equal(true);
    return structuredContent;
  };
  const collectionOf = async (name: string, dimension: number, batch: object): Promise<void> => {
    await project.rw.post('/v1/namespaces', { name, dimension, metric: 'squared_l2' });
    const inserted = await project.rw.post('/v1/vectors/batch-insert', { collection: name, ...batch });
    expect(inserted.status, JSON.stringify(inserted.body)).to.equal(200);
  };

  it('have schemas, like the arguments, that use only words which OpenAI, Gemini and Anthropic accept', async () => {
    const { tools } = await mcp.client.listTools();
    expect(tools).to.have.length(17);
    for (const { name, description, inputSchema, outputSchema } of tools) {
      expect(name).to.match(NAME);
      expect(description!.length, name).to.be.at.most(DESCRIPTION_CHARS_MAX);
      assertAccepted(inputSchema, name, true);
      assertAccepted(outputSchema as Node, name, false);
    }
  });

  it('carry text scores of a search by words alone, and of one that weighs words against the distance', async () => {
    const collection = 'worded';
    await collectionOf(collection, 2, {
      batch: [
        [0, 0],
        [1, 1],
      ],
      texts: ['an owl', 'a wren'],
    });
    const asked = { collection, query_text: 'wren' };
    const words = await ask('search_text', { ...asked, with: ['text'] });
    expect(words.results).to.have.length(1);
    expect(words.results[0]).to.include({ id: 2, text: 'a wren' });
    const hybrid = { fusion: 'rrf', text_weight: 1 };
    const fused = await ask('search', { ...asked, query: [0, 0], k: 1, hybrid, with: [] });
    expect(fused.results[0]).to.include({ id: 2, text_score: words.results[0].text_score });
  });

  it('carry who has read a collection, in pages that fit, to a key of scope admin alone', async () => {
    const collection = 'audited';
    const named = { collection, limit: 100 };
    expect((await mcp.call('access_log', named)).json).to.include({ code: 'forbidden' });
    const key = project.admin.key!;
    const args = [join(ROOT, 'dist/scripts/mcp.js'), '--url', service.url];
    const admin = await Mcp.start(process.execPath, args, key);
    try {
      const made = { name: collection, dimension: 2, metric: 'squared_l2', audit_reads: 'full' };
      expect((await project.rw.post('/v1/namespaces', made)).status).to.equal(200);
      for (let i = 0; i < 12; i++) await ask('search_text', { collection, query_text: 'word '.repeat(500) });
      const read: { entry: number; kind: string; status: number; body: string }[] = [];
      for (let after: number | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const { entries, next } = await ask('access_log', { ...named, after }, admin);
        read.push(...entries);
        after = next;
      }
      expect(read.map(({ entry }) => entry)).to.deep.equal(read.map((_, i) => i + 1));
      expect(read.filter(({ kind }) => kind === 'POST /v1/search/text')).to.have.length(12);
      expect(read[0]!.body)
        .to.include('word word')
        .and.match(/more characters\]$/);
      expect(await ask('access_log', { ...named, actor: 'u-17' }, admin)).to.deep.include({ entries: [] });
    } finally {
      await admin.client.close();
    }
  });

  it('carry the log_index of a record, since which a change may demand that it is unchanged', async () => {
    const collection = 'conditions';
    const upsert = { collection, records: [{ external_id: 'owl', vector: [1, 1] }] };
    await collectionOf(collection, 2, { batch: [[0, 0]] });
    expect(await ask('upsert_records', { ...upsert, if_log_index: 0 })).to.include({ created: 1 });
    const got = await ask('get_records', { collection, ids: [1, 2], with: ['log_index'] });
    expect(got.records).to.deep.equal([
      { id: 1, tag: 0, log_index: 1 },
      { id: 2, external_id: 'owl', tag: 0, log_index: 2 },
    ]);
    const merge = { collection, ids: [2], merge: { n: 1 }, if_log_index: 2 };
    expect(await ask('update_metadata', merge)).to.deep.equal({ updated: 1, log_index: 3, missing: [] });
    const listed = await ask('list_records', { collection, with: ['log_index'] });
    expect(listed.records.map((one: { log_index: number }) => one.log_index)).to.deep.equal([1, 3]);
    for (const [name, given] of [
      ['update_metadata', merge],
      ['upsert_records', { ...upsert, if_log_index: 2 }],
      ['delete_record', { collection, id: 2, if_log_index: 2 }],
      ['delete_record', { collection, external_id: 'owl', if_log_index: 2 }],
    ] as const)
      expect((await mcp.call(name, given)).json, name).to.include({
        error: 'record 2 was changed by event 3, after 2: read it again',
        code: 'conflict',
      });
    expect(await ask('delete_record', { collection, id: 2, if_log_index: 3 })).to.include({ deleted: 1 });
  });

  it('fit the output schema of each tool; null arguments equal absent ones', async () => {
    const collection = 'each';
    await collectionOf(collection, 2, { batch: [[0, 0]], metadata: [{ kind: null, n: 1 }], texts: ['a'] });
    const nulls = async (name: string, given: Record<string, unknown>): Promise<void> => {
      const { inputSchema } = (await mcp.client.listTools()).tools.find((tool) => tool.name === name)!;
      const optional = Object.keys(inputSchema.properties ?? {}).filter((key) => !inputSchema.required?.includes(key));
      const withNulls = { ...Object.fromEntries(optional.map((key) => [key, null])), ...given };
      expect(await ask(name, withNulls), name).to.deep.equal(await ask(name, given));
    };
    await nulls('list_collections', {});
    await nulls('search', { collection, query: [0, 1] });
    await nulls('search_text', { collection, query_text: 'a' });
    await nulls('get_records', { collection, ids: [1, 7] });
    await nulls('read_field', { collection, id: 1, field: 'vector' });
    await nulls('list_records', { collection });
    await nulls('count_records', { collection });
    await nulls('facets', { collection, key: 'kind' });
    await nulls('history', { collection, proofs: true });
    const verified = { collection, sequence: 1, receipt: null, record: { vector: [0, 0], text: 'a', tag: null } };
    const changed = { ...verified.record, metadata: { kind: null, n: 1 }, metadata_json: null, deleted: null };
    expect(await ask('verify', { ...verified, record: changed })).to.include({ verdict: 'unknownSigner' });
    expect((await ask('facets', { collection, key: 'kind' })).values).to.deep.equal([{ value: null, count: 1 }]);
    const record = { vector: [1, 1], text: null, metadata: null, request_id: null };
    expect(await ask('insert_record', { collection, ...record })).to.include({ id: 2 });
    expect(await ask('insert_records', { collection, records: [record] })).to.deep.equal({ ids: [3] });
    const upserted = { external_id: 'owl', vector: [1, 1], text: null, metadata: { deep: null } };
    expect(await ask('upsert_records', { collection, records: [upserted] })).to.include({ created: 1 });
    expect((await ask('get_records', { collection, external_ids: ['owl'] })).records[0].metadata).to.deep.equal({
      deep: null,
    });
    expect(await ask('delete_record', { collection, id: null, external_id: 'owl' })).to.include({ deleted: 1 });
    expect(await ask('delete_record', { collection, id: 3, external_id: null })).to.include({ deleted: 1 });
    expect(await ask('delete_record', { collection, external_id: 'owl' })).to.deep.include({ missing: ['owl'] });
    const { key_id } = await ask('insert_record', { collection, ...record, key_id: 'new' });
    const erased = [{ key_id, collections: [{ collection, erased_by: 8, contents: 1 }] }];
    const named = { key_ids: [key_id], collection: null, metadata_filter: null };
    expect(await ask('erase_keys', named)).to.deep.equal({ erased });
  });

  it('fit a default search of long texts and metadata, whose rest read_field reads', async () => {
    const text = 'Ünïcode and "quotes" — 漢字 🎈. '.repeat(1_500);
    const metadata = { title: 'x'.repeat(30_000), tags: Array.from({ length: 2_000 }, (_, i) => `tag ${i}`) };
    const ten = Array.from({ length: 10 }, (_, i) => i);
    await collectionOf('long', 2, {
      batch: ten.map((i) => [i, 0]),
      texts: ten.map(() => text),
      metadata: ten.map(() => metadata),
    });
    const { results, left_out } = await ask('search', { collection: 'long', query: [0, 0] });
    expect(results.map(({ id }: { id: number }) => id)).to.deep.equal(ten.map((i) => i + 1));
    for (const hit of results) {
      expect(hit.vector).to.equal(undefined);
      expect(hit.text).to.match(/^Ünïcode .*…\[\d+ more characters\]$/);
      expect(hit.metadata.title).to.match(/^x+…\[\d+ more characters\]$/);
      expect(hit.metadata.tags.at(-1)).to.match(/^…\[\d+ more items\]$/);
    }
    expect(left_out).to.include('parts of metadata and text').and.include('read_field');
    const whole = async (field: string): Promise<string> => {
      let [read, from] = ['', 0 as number | undefined];
      while (from !== undefined) {
        const { piece, next, total } = await ask('read_field', { collection: 'long', id: 1, field, from });
        read += piece;
        from = next;
        expect(total).to.be.at.least(read.length);
      }
      return read;
    };
    expect(await whole('text')).to.equal(text);
    expect(JSON.parse(await whole('metadata'))).to.deep.equal(metadata);
  });

  it('name what was left out if records, events, values or collections do not fit', async () => {
    const hundred = Array.from({ length: 100 }, (_, i) => i);
    const metadata = hundred.map((i) => ({ key: `${i} `.repeat(500) }));
    await collectionOf('wide', 512, { batch: hundred.map((i) => Array(512).fill(i + 0.123)), metadata });
    const ordered: number[] = [];
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const asked = { collection: 'wide', limit: 100, with: ['vector'], order_by: 'key', cursor };
      const page = await ask('list_records', asked);
      ordered.push(...page.records.map(({ id }: { id: number }) => id));
      cursor = page.next_cursor;
    }
    expect([...ordered].sort((a, b) => a - b)).to.deep.equal(hundred.map((i) => i + 1));
    const seen: number[] = [];
    let after: number | undefined;
    do {
      const page = await ask('list_records', { collection: 'wide', limit: 100, with: ['vector'], after });
      seen.push(...page.records.map(({ id }: { id: number }) => id));
      if (page.next !== undefined && seen.length < 100)
        expect(page.left_out).to.match(/of \d+ records.*`next` continues/);
      after = page.next;
    } while (after !== undefined);
    expect(seen).to.deep.equal(hundred.map((i) => i + 1));
    const hits = await ask('search', { collection: 'wide', like: 1, k: 100, with: ['metadata', 'vector'] });
    expect(hits.left_out).to.match(/^\d+ of 99 results/);
    expect((await ask('search', { collection: 'wide', like: 1, k: 100, with: [] })).results).to.have.length(99);
    expect((await ask('facets', { collection: 'wide', key: 'key', limit: 100 })).left_out).to.match(/parts of value/);
    const proved = await ask('history', { collection: 'wide', limit: 10, proofs: true });
    if (proved.events.length < 10) expect(proved.left_out).to.match(/^\d+ of 10 events.*last log_index/);
    const got = await ask('get_records', {
      collection: 'wide',
      external_ids: hundred.map((i) => `${'\u0001'.repeat(250)}${i}`),
    });
    expect(got.missing.at(-1)).to.match(/^…\[\d+ more items\]$/);
  });

  it('leave out a vector that fits no answer, which read_field reads in pieces', async () => {
    const vector = Array.from({ length: 32_768 }, (_, i) => Math.min(i, 32_000) + 0.5);
    await collectionOf('large', 32_768, { batch: [vector, vector] });
    const got = await ask('get_records', { collection: 'large', ids: [1, 2], with: ['vector'] });
    expect(got.records).to.deep.equal([
      { id: 1, tag: 0 },
      { id: 2, tag: 0 },
    ]);
    expect(got.left_out).to.match(/^vectors that are too large\. .*read_field/);
    const { piece, next, total } = await ask('read_field', { collection: 'large', id: 1, field: 'vector' });
    expect(piece.startsWith('[0.5,1.5,')).to.equal(true);
    expect([next < total, total]).to.deep.equal([true, JSON.stringify(vector).length]);
  });

  it('are errors that name the argument and what to do next', async () => {
    const refused = async (name: string, given: Record<string, unknown>): Promise<Record<string, string>> => {
      const { isError, json } = await mcp.call(name, given);
      expect(isError, JSON.stringify(json)).to.equal(true);
      expect(json.next, JSON.stringify(json)).to.match(/^[A-Z].+\.$/);
      return json;
    };
    await collectionOf('two', 2, { batch: [[0, 0]] });
    const collection = 'two';
    expect((await refused('search', { collection, query: [1, 2], K: 1 })).error).to.equal(
      'search takes no "K": did you mean k?',
    );
    expect((await refused('insert_record', { collection, vector: [1, 40_000] })).error).to.match(/^vector\[1\]: /);
    const records = [{ vector: [1, 2] }, { vector: [1, 40_000] }];
    expect((await refused('insert_records', { collection, records })).error).to.match(/^records\[1\]\.vector\[1\]: /);
    const named = records.map((record, i) => ({ ...record, vector: [i, i], external_id: 'x'.repeat(300 * i + 1) }));
    expect((await refused('upsert_records', { collection, records: named })).error).to.match(
      /^records\[1\]\.external_id: /,
    );
    expect((await refused('search', { collection: 'nothing', query: [1] })).next).to.include('list_collections');
    expect((await refused('search', { collection, query: [1] })).next).to.include('dimension');
    expect(await refused('read_field', { collection, id: 9, field: 'text' })).to.include({ code: 'record_not_found' });
    expect(await refused('read_field', { collection, id: 1, field: 'text' })).to.include({ code: 'record_not_found' });
    expect((await refused('read_field', { collection, id: 1, field: 'vector', from: 99 })).error).to.match(
      /^from is 99: /,
    );
    expect((await refused('verify', { collection, sequence: 1, record: { deleted: false } })).error).to.match(
      /^record: give/,
    );
  });

  it('all arrive if many calls come at once', async () => {
    await collectionOf('many', 2, { batch: [[0, 0]] });
    const counts = await Promise.all(Array.from({ length: 30 }, () => ask('count_records', { collection: 'many' })));
    expect(counts).to.deep.equal(Array(30).fill({ count: 1 }));
  });
});
