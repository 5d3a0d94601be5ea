/** Writes the live records of a collection into a folder that `HNSWLib` of LangChain.js loads. */
import { basename, join } from 'node:path';
import type hnswlib from 'hnswlib-node';
import type { ListedCollection } from '../../coordinator/contract/collections.js';
import type { ListedRecord, ListRecordsResponse } from '../../coordinator/contract/records.js';
import { messageOf } from '../../shared/errors/errors.js';
import { deleteTree, makeDirectory, move, replaceFile, StreamedFile, syncFile } from '../../shared/files/durable.js';
import { RECORDS_MAX } from '../../shared/limits.js';
import { hnswlibNode } from '../hnswlib/library.js';
import { type Space, STORE_FILES, type StoreArgs, type StoredDocument, type StoreEntry } from '../hnswlib/store.js';
import { withOwn } from '../load/services/ownFields.js';
import { findNamed } from '../service/collections.js';
import type { ServiceClient } from '../service/serviceClient.js';
import { counted, say } from '../terminal/line.js';
import { type Progress, withProgress } from '../terminal/progress.js';
import { assertFree } from './assertFree.js';

/** The space whose order is that of the collection: `cosine` divides vectors and queries by their length too. */
const spaceOf = ({ normalise }: ListedCollection): Space => (normalise ? 'cosine' : 'l2');

/** Writes the folder, which appears when it is complete. Throws an Error of one line. */
export async function writeStore(client: ServiceClient, wanted: string, folder: string): Promise<void> {
  await assertFree(folder);
  const found = await findNamed(client, wanted);
  if (found === undefined) throw new Error(`the collection ${wanted} does not exist`);
  const collection = found.name;
  const space = spaceOf(found);
  const index = new (hnswlibNode().HierarchicalNSW)(space, found.dimension);
  index.initIndex(Math.max(found.record_count, 1));
  const unfinished = `${folder}.part-${process.pid}`;
  await makeDirectory(unfinished);
  try {
    const blank = await withProgress('export', found.record_count, ['record', 'records'], (progress) =>
      fill({ client, collection, index, progress }, join(unfinished, STORE_FILES.documents)),
    );
    await saveIndex(index, join(unfinished, STORE_FILES.index));
    const args: StoreArgs = { space, numDimensions: found.dimension };
    await replaceFile(join(unfinished, STORE_FILES.args), JSON.stringify(args));
    await move(unfinished, folder);
    if (blank > 0)
      say(
        'warning',
        'left out',
        `${counted(blank, 'record')} of zeros without text and metadata, as encrypted ones are`,
      );
  } catch (error) {
    await deleteTree(unfinished);
    throw error;
  }
  say('done', 'folder', `${basename(folder)}: ${counted(index.getCurrentCount(), 'document')}, compared by ${space}`);
}

interface Filling {
  readonly client: ServiceClient;
  readonly collection: string;
  readonly index: hnswlib.HierarchicalNSW;
  readonly progress: Progress;
}

/** Adds the vectors to the index, and writes the documents. Returns the number of records that were left out. */
async function fill({ client, collection, index, progress }: Filling, path: string): Promise<number> {
  const file = await StreamedFile.begin(path);
  let label = 0;
  let read = 0;
  try {
    for await (const records of pagesOf(client, collection)) {
      let entries = '';
      for (const record of records) {
        if (isBlank(record)) continue;
        if (label === index.getMaxElements()) index.resizeIndex(2 * label);
        index.addPoint(record.vector!, label);
        const entry: StoreEntry = [String(label), documentOf(record)];
        entries += (label === 0 ? '[' : ',') + JSON.stringify(entry);
        label += 1;
      }
      await file.write(Buffer.from(entries));
      read += records.length;
      progress.advance(records.length);
    }
    await file.write(Buffer.from(label === 0 ? '[]' : ']'));
    await file.finish();
    return read - label;
  } catch (error) {
    await file.abandon();
    throw error;
  }
}

async function* pagesOf(client: ServiceClient, collection: string): AsyncGenerator<readonly ListedRecord[]> {
  const path = `/v1/records?collection=${encodeURIComponent(collection)}&with=vector,text&limit=${RECORDS_MAX}`;
  for (let after: ListRecordsResponse['next'] = 0; after !== null; ) {
    const { records, next }: ListRecordsResponse = await client.ask('GET', `${path}&after=${after}`);
    yield records;
    after = next;
  }
}

/** Whether the record may be encrypted: lists show encrypted records as zeros. */
const isBlank = ({ vector, text, metadata, external_id: id }: ListedRecord): boolean =>
  text === null && metadata === null && id === undefined && vector!.every((component) => component === 0);

/** The document of a record: the external id becomes its id, and a tag other than 0 a field of its metadata. */
function documentOf({ text, metadata, tag, external_id: id }: ListedRecord): StoredDocument {
  const tagged = tag === 0 ? (metadata ?? {}) : withOwn(metadata ?? {}, { tag }, 'record.');
  return { pageContent: text ?? '', metadata: tagged, ...(id !== undefined && { id }) };
}

/** Reads the file back, since hnswlib does not notice that a full disk stored only a part of it. */
async function saveIndex(index: hnswlib.HierarchicalNSW, path: string): Promise<void> {
  const count = index.getCurrentCount();
  try {
    await index.writeIndex(path);
    await index.readIndex(path);
  } catch (error) {
    throw new Error(`${path} cannot be written: ${messageOf(error)}`);
  }
  if (index.getCurrentCount() !== count) throw new Error(`${path} was stored only in part: is the disk full?`);
  await syncFile(path);
}
