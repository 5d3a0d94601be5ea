/** Prepared collections that attacks read. */
import { setTimeout as delay } from 'node:timers/promises';
import { taken } from './asker.js';
import { type CraftedLog, craftLog, newEdge, newNode, newRecord } from './craftedLog.js';
import {
  collidingIntegers,
  combiningMarks,
  differentWords,
  FIELD_BYTES,
  inflectedWords,
  keyed,
  manyKeys,
  names,
} from './hostile.js';
import type { Stage } from './stage.js';

/** `VOUCH_STALLS_DEPTH`: factor of the sizes of prepared collections. */
const DEPTH = Number(process.env.VOUCH_STALLS_DEPTH ?? 1);

/** Records that one deletion by a filter may match. */
export const MANY = 65_536;
/** Records whose fields fill an answer of 8 MiB. */
export const HEAVY = 130 * DEPTH;
export const EDGES = 50_000 * DEPTH;
/** Nodes and edges of the largest subgraph that is answered. */
export const SUBGRAPH = 9_999;
const COLLIDING = 49_152;
const COLLIDING_RECORDS = 9;
const LOOK_MS = 50;
const WORDY = 50 * DEPTH;

/** Logs are made once for all services. */
const logs = new Map<string, Promise<CraftedLog>>();
function crafted(what: string, make: () => Promise<CraftedLog>): Promise<CraftedLog> {
  const log = logs.get(what) ?? make();
  logs.set(what, log);
  return log;
}

const utf8 = (value: unknown): Uint8Array => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Small records, each with values of its own. */
export const manyLog = (): Promise<CraftedLog> =>
  crafted('many', () => craftLog(range(MANY).map((n) => newRecord(n + 1, { metadata: utf8({ n, s: `s${n}` }) }))));
/** Records in the largest batch. */
export const BATCH = 16_384;
export const batchLog = (): Promise<CraftedLog> =>
  crafted('batch', () => craftLog(range(BATCH).map((n) => newRecord(n + 1, { metadata: utf8({ n, s: `s${n}` }) }))));
export const many = (stage: Stage): Promise<string> =>
  stage.shared('many', async () => stage.imported(await manyLog()));

/** Numbers that share a bucket of a `Map`, in arrays that metadata can hold. */
export const colliding = (stage: Stage): Promise<string> =>
  stage.shared('colliding', () => {
    const numbers = collidingIntegers(COLLIDING);
    const each = Math.ceil(COLLIDING / COLLIDING_RECORDS);
    const metadata = range(COLLIDING_RECORDS).map((i) => ({ n: numbers.slice(i * each, (i + 1) * each) }));
    return stage.filled({ count: COLLIDING_RECORDS, metadata });
  });

/** Metadata of the largest size, with more paths than are indexed, and a text of the largest size. */
export const heavyLog = (): Promise<CraftedLog> =>
  crafted('heavy', () => {
    const metadata = range(2).map((i) => utf8(manyKeys(String(i))));
    const text = utf8('word '.repeat(FIELD_BYTES / 5));
    return craftLog(
      range(HEAVY).map((i) => newRecord(i + 1, { metadata: metadata[i % 2]!, ...(i % 2 === 0 ? { text } : {}) })),
      100,
    );
  });
export const heavy = (stage: Stage): Promise<string> =>
  stage.shared('heavy', async () => stage.imported(await heavyLog()));

/** Texts with the most words that fit, all with equal words. */
export const wordy = (stage: Stage): Promise<string> =>
  stage.shared('wordy', () =>
    stage.filled({ count: WORDY, texts: range(WORDY).map((i) => differentWords(500 * (i % 10))) }),
  );

/** Settings of a collection in a language with costly stems. */
export const STEMMING = { text: { language: 'portuguese' } };

/** Metadata with strings of many words, in a language. */
export const stemmed = (stage: Stage): Promise<string> =>
  stage.shared('stemmed', () =>
    stage.filled(
      { count: WORDY, metadata: range(WORDY).map((i) => ({ s: inflectedWords(5_000 * i).slice(0, LONG) })) },
      STEMMING,
    ),
  );
/** Characters of a string that leave room in the metadata. */
const LONG = 60_000;

/** External ids of the greatest length that differ in their last characters. */
export const longIds = (): string[] => names(BATCH, 4, 'x'.repeat(252));
export const named = (stage: Stage): Promise<string> =>
  stage.shared('named', () => stage.filled({ count: BATCH, externalIds: longIds() }));

/** The record and the node from which all edges lead to other nodes. */
export const HUB = 1;
/** A node with `SUBGRAPH` edges. */
export const LESSER_HUB = 2;
export const hubLog = (): Promise<CraftedLog> =>
  crafted('hub', () => {
    const nodes = range(EDGES + 2).map((i) => newNode(i + 1, i + 1 === HUB ? HUB : null));
    const edges = range(EDGES).map((i) => newEdge(i + 1, HUB, i + 3));
    const lesser = range(SUBGRAPH - 1).map((i) => newEdge(EDGES + i + 1, LESSER_HUB, i + 3));
    return craftLog([newRecord(1), newRecord(2), ...nodes, ...edges, ...lesser]);
  });
export const hub = (stage: Stage): Promise<string> => stage.shared('hub', async () => stage.imported(await hubLog()));

/** Records of a collection with an index of the largest parameters. */
export const INDEXED_RECORDS = 2_000 * DEPTH;
export const LARGEST_GRAPH = { m: 128, ef_construction: 4_096, ef_search: 4_096 };
export const indexed = (stage: Stage): Promise<string> =>
  stage.shared('indexed', async () => {
    const metadata = range(INDEXED_RECORDS).map((n) => ({ n }));
    const collection = await stage.filled({ count: INDEXED_RECORDS, metadata });
    const path = `/v1/namespaces/${collection}/index`;
    await stage.client.post(path, { type: 'hnsw', parameters: LARGEST_GRAPH });
    for (let status = 'building'; status === 'building'; ) {
      await delay(LOOK_MS);
      ({ status } = taken<{ status: string }>(await stage.client.get(path)));
    }
    return collection;
  });

/** Two plain texts, for searches with any query text. */
export const plainTexts = (stage: Stage): Promise<string> =>
  stage.shared('plain texts', () => stage.filled({ count: 2, texts: ['red', 'blue'] }));

export const DIMENSION_MAX = 32_768;
/** Vectors of the largest dimension. */
export const wide = (stage: Stage): Promise<string> =>
  stage.shared('wide', async () => {
    const collection = await stage.collection({ dimension: DIMENSION_MAX });
    const vector = `[${new Array(DIMENSION_MAX).fill(1.5).join()}]`;
    const batch = new Array(64).fill(vector).join();
    await stage.post('/v1/vectors/batch-insert', `{"collection":"${collection}","batch":[${batch}]}`)();
    return collection;
  });

/** Metadata of one long key over a thousand short ones: 44 KB. */
export const longKey = (): object => ({ ['p'.repeat(30_000)]: keyed(names(1_000)) });
/** Texts that are normalised in quadratic time. */
export const marks = (count: number): string[] => new Array(count).fill(combiningMarks());
