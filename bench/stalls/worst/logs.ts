/** Worst inputs of proofs, of the timeline, and of exports and imports. */

import type { CraftedLog, NewEvent } from '../craftedLog.js';
import { craftLog, framesBody, newRecord } from '../craftedLog.js';
import { batchLog, heavy, heavyLog, hubLog, longKey, MANY, many, marks } from '../fixtures.js';
import { BODY_BYTES, differentWords, longPaths } from '../hostile.js';
import type { Rows, WorstInput } from '../row.js';
import type { Attack, Query, Stage } from '../stage.js';

const reading =
  (path: string, query: Query = {}) =>
  async (stage: Stage): Promise<Attack> =>
    stage.get(path, { collection: await many(stage), ...query });

/** A collection whose access log has 64 entries with requests as long as they are kept. */
async function audited(stage: Stage): Promise<string> {
  const name = stage.newName();
  const collection = { name, dimension: 1, metric: 'squared_l2', audit_reads: 'full' };
  await stage.client.post('/v1/namespaces', collection);
  const body = { collection: name, external_ids: Array.from({ length: 240 }, (_, i) => `${i}`.padEnd(250, '\t')) };
  for (let i = 0; i < 64; i++) await stage.client.post('/v1/records/get', body);
  return name;
}

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** A log is announced, and all its frames are sent. */
const importing = (input: string, because: string, log: () => Promise<CraftedLog>): WorstInput => ({
  input,
  because,
  statuses: [200, 400, 413],
  prepare: async (stage) => {
    const { facts, frames } = await log();
    const name = stage.newName();
    await stage.client.post('/v1/import', { ...facts, name });
    return stage.post(`/v1/import/${name}/log`, framesBody(frames));
  },
});
const importingEvents = (input: string, because: string, events: () => readonly NewEvent[]): WorstInput =>
  importing(input, because, () => craftLog(events()));

export const LOGS: Rows = {
  'GET /v1/proof/state': { small: 'the hashes are kept' },
  'GET /v1/proof/event-log': { small: 'the hashes are kept' },
  'GET /v1/proof/receipt': [
    {
      input: 'an early write of 65,536',
      because: 'the tree of that time is made from the log',
      prepare: reading('/v1/proof/receipt', { sequence: 20_000 }),
    },
  ],
  'GET /v1/proof/inclusion': [
    {
      input: 'an early event of 65,536',
      because: 'the path is made of hashes of the log',
      prepare: reading('/v1/proof/inclusion', { sequence: 3, size: MANY - 1 }),
    },
  ],
  'GET /v1/proof/consistency': [
    {
      input: 'a log of 65,536 events',
      because: 'the path is made of hashes of the log',
      prepare: reading('/v1/proof/consistency', { from: 32_767, to: MANY - 1 }),
    },
  ],
  'GET /v1/proof/checkpoint': { small: 'one signature over hashes that are kept' },
  'GET /v1/proof/keys': { small: 'there are as many keys as shards have had' },
  'GET /v1/timeline': [
    {
      input: 'the last page of 65,536 events',
      because: 'all are counted',
      prepare: reading('/v1/timeline', { from: 0, limit: 1_000, after: MANY - 1_000 }),
    },
    {
      input: 'a page of events with metadata and texts as large as they may be',
      because: 'the events are read from the log',
      prepare: async (stage) => stage.get('/v1/timeline', { collection: await heavy(stage), limit: 1_000 }),
    },
  ],
  'GET /v1/access': [
    {
      input: 'a page of entries with the longest requests',
      because: 'the entries are read from the log, parsed and written',
      prepare: async (stage) => stage.get('/v1/access', { collection: await audited(stage), limit: 1_000 }),
    },
    {
      input: 'the entries of an actor that has none',
      because: 'each entry is parsed',
      prepare: async (stage) => stage.get('/v1/access', { collection: await audited(stage), actor: 'absent' }),
    },
  ],
  'GET /v1/access/checkpoint': { small: 'one entry of the service log and its path' },
  'GET /v1/access/log': [
    {
      input: 'a piece of the longest requests',
      because: 'it is the longest piece',
      prepare: async (stage) => stage.get('/v1/access/log', { collection: await audited(stage) }),
    },
  ],
  'GET /v1/export': { small: 'one signature over hashes that are kept' },
  'GET /v1/export/log': [
    {
      input: 'a piece of 8 MiB from the middle',
      because: 'it is the longest piece',
      prepare: async (stage) => stage.get('/v1/export/log', { collection: await heavy(stage), from: 50 }),
    },
    {
      input: 'a piece that begins within a frame of 8,192 events',
      because: 'the frame is found and read whole',
      prepare: reading('/v1/export/log', { from: 60_000 }),
    },
  ],
  'POST /v1/import': { small: 'a body of a few fields of bounded length' },
  'POST /v1/import/{name}/log': [
    importing('16,384 records', 'they are verified and indexed', batchLog),
    importing('records with metadata and texts as large as they may be', 'they are indexed', heavyLog),
    importing('a node with 50,000 edges', 'its list grows with each of them', hubLog),
    importingEvents('metadata of a million bytes', 'a write could not store it', () => [
      newRecord(1, { metadata: bytes(JSON.stringify({ a: 'x'.repeat(1_000_000) })) }),
    ]),
    importingEvents('metadata of one long key over a thousand short ones', 'paths have one hash in V8', () => [
      newRecord(1, { metadata: bytes(JSON.stringify(longKey())) }),
    ]),
    importingEvents('metadata of long paths', 'paths have one hash in V8', () =>
      Array.from({ length: 20 }, (_, i) => newRecord(i + 1, { metadata: bytes(JSON.stringify(longPaths())) })),
    ),
    importingEvents('texts of combining marks in the wrong order', 'each is normalised in quadratic time', () =>
      marks(20).map((text, i) => newRecord(i + 1, { text: bytes(text) })),
    ),
    importingEvents('texts of different words', 'each is a word of the index', () =>
      Array.from({ length: 50 }, (_, i) => newRecord(i + 1, { text: bytes(differentWords(20_000 * i)) })),
    ),
    {
      input: '32 MiB of frames of one byte',
      because: 'they are split before the first is read',
      statuses: [400],
      reaches: 'coordinator',
      prepare: async (stage) => {
        const { facts } = await batchLog();
        const name = stage.newName();
        await stage.client.post('/v1/import', { ...facts, name });
        return stage.post(`/v1/import/${name}/log`, Buffer.alloc(BODY_BYTES - 2, Buffer.from([1, 0, 0, 0, 0])));
      },
    },
  ],
  'POST /v1/import/{name}/finish': [
    {
      input: 'a log of 16,384 events',
      because: 'the state is hashed',
      prepare: async (stage) => {
        const { facts, frames } = await batchLog();
        const name = stage.newName();
        await stage.client.post('/v1/import', { ...facts, name });
        await stage.client.post(`/v1/import/${name}/log`, framesBody(frames));
        return stage.post(`/v1/import/${name}/finish`, '');
      },
    },
  ],
};
