/** Index files of hnswlib, and stores of LangChain.js around them. Rows are in the order of their labels. */
import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type hnswlib from 'hnswlib-node';
import { messageOf } from '../../../shared/errors/errors.js';
import { ifThere } from '../../../shared/files/durable.js';
import { type IndexFacts, indexFacts } from '../../hnswlib/indexFile.js';
import { hnswlibNode } from '../../hnswlib/library.js';
import { isSpace, SPACES, type Space, STORE_FILES, type StoreArgs, type StoredDocument } from '../../hnswlib/store.js';
import { counted } from '../../terminal/line.js';
import { jsonIn } from '../json.js';
import { withOwn } from '../services/ownFields.js';
import { type Fields, type RawRow, RowFault, rowFrom, type Source, type Unreadable, USUAL } from '../source.js';
import { documentsIn } from './docstore.js';

/** The greatest label that hnswlib-node reads. It cuts off higher bits, and returns the vector of another label. */
const LABEL_MAX = 2 ** 32 - 1;

const REMARKS: Readonly<Record<Space, string | undefined>> = {
  l2: undefined,
  cosine: 'cosine: hnswlib divides vectors by their length, so squared_l2 gives the same order',
  ip: 'ip: squared_l2 gives the same order only among vectors of one length; --normalise gives that of cosine',
};

/** An index with its documents by label; undefined: it has none. */
interface Opened extends IndexFacts {
  readonly path: string;
  readonly name: string;
  readonly space: Space;
  readonly documents: ReadonlyMap<number, Buffer> | undefined;
}

/** `path`: a store's folder, or an index file, which does not say its space. Throws an Error of one line. */
export async function hnswlibSource(path: string, space: Space | undefined): Promise<Source> {
  const found = await ifThere(stat(path));
  if (found === undefined) throw new Error(`${path} does not exist`);
  const index = found.isDirectory() ? await openStore(path, space) : await openIndex(path, space);
  if (index.count === 0 && (index.documents?.size ?? 0) === 0)
    throw new Error(
      `${index.name} has no record; make an empty collection of dimension ${index.dimension} by POST /v1/namespaces`,
    );
  return {
    name: index.name,
    usual: USUAL,
    remark: REMARKS[index.space],
    expected: () => index.count,
    rows: (signal) => rowsOf(index, signal),
  };
}

async function openIndex(path: string, space: Space | undefined): Promise<Opened> {
  const name = basename(path);
  if (space === undefined)
    throw new Error(`${name} does not say how it compares: --space says whether by ${SPACES.join(', ')}`);
  return { ...(await indexFacts(path, name)), path, name, space, documents: undefined };
}

async function openStore(folder: string, given: Space | undefined): Promise<Opened> {
  const path = join(folder, STORE_FILES.index);
  const lacks = (file: string, remedy = ''): Error =>
    new Error(`${folder} is not a store of LangChain.js: it has no ${file}${remedy}`);
  if ((await ifThere(stat(path))) === undefined) throw lacks(STORE_FILES.index);
  const contentOf = async (file: string): Promise<Buffer> => {
    const bytes = await ifThere(readFile(join(folder, file)));
    if (bytes === undefined) throw lacks(file, `; to load its vectors alone, name ${path} and its --space`);
    return bytes;
  };
  const { space, numDimensions } = argsIn(await contentOf(STORE_FILES.args));
  if (given !== undefined && given !== space)
    throw new Error(`--space is ${given}, and ${STORE_FILES.args} says ${space}`);
  const facts = await indexFacts(path, STORE_FILES.index);
  if (facts.dimension !== numDimensions)
    throw new Error(
      `${STORE_FILES.args} says ${counted(numDimensions, 'component')}, and the vectors of ${STORE_FILES.index} have ${facts.dimension}`,
    );
  const documents = documentsIn(await contentOf(STORE_FILES.documents), STORE_FILES.documents);
  return { ...facts, path, name: basename(folder), space, documents };
}

function argsIn(bytes: Buffer): StoreArgs {
  const args = jsonIn(bytes, STORE_FILES.args, { isExact: false }) as Partial<StoreArgs> | null;
  if (!isSpace(args?.space) || !Number.isInteger(args.numDimensions))
    throw new Error(`${STORE_FILES.args} does not say the space, one of ${SPACES.join(', ')}, and numDimensions`);
  return args as StoreArgs;
}

async function* rowsOf(opened: Opened, signal: AbortSignal | undefined): AsyncGenerator<RawRow | Unreadable> {
  const { documents } = opened;
  const index = await readIndex(opened);
  const stored = index.getIdsList();
  if (stored.length !== opened.count)
    throw new Error(
      `${opened.name} is damaged: its ${counted(opened.count, 'vector has', 'vectors have')} ${counted(stored.length, 'label')}`,
    );
  const withVector = new Set(stored);
  const alone = [...(documents?.keys() ?? [])].filter((label) => !withVector.has(label));
  for (const [i, label] of Float64Array.from([...stored, ...alone])
    .sort()
    .entries()) {
    signal?.throwIfAborted();
    const number = i + 1;
    if (!withVector.has(label)) yield { number, fault: `the document of label ${label} has no vector` };
    else if (label > LABEL_MAX)
      yield { number, fault: `its label is ${label}: hnswlib-node reads labels up to ${LABEL_MAX}` };
    else {
      const vector = pointOf(index, label);
      if (vector !== undefined) yield rowFrom(number, () => fieldsOf(label, vector, documents));
    }
  }
}

async function readIndex({ path, name, count, dimension }: Opened): Promise<hnswlib.HierarchicalNSW> {
  // The vectors of all spaces are stored in the same form.
  const index = new (hnswlibNode().HierarchicalNSW)('l2', dimension);
  try {
    if (count > 0) await index.readIndex(path);
    return index;
  } catch (error) {
    throw new Error(`${name} cannot be read: ${messageOf(error)}`);
  }
}

/** Undefined where the label is marked as deleted. */
function pointOf(index: hnswlib.HierarchicalNSW, label: number): readonly number[] | undefined {
  try {
    return index.getPoint(label);
  } catch (error) {
    if (messageOf(error).endsWith('Label not found')) return undefined;
    throw error;
  }
}

/** Throws RowFault. */
function fieldsOf(label: number, vector: readonly number[], documents: Opened['documents']): Fields {
  if (documents === undefined) return { id: label, vector };
  const entry = documents.get(label);
  if (entry === undefined) throw new RowFault(`the vector of label ${label} has no document`);
  const { pageContent: text, metadata, id } = documentIn(entry, label);
  return withOwn({ ...(id !== undefined && { id }), text, vector }, metadata, 'metadata.');
}

function documentIn(entry: Buffer, label: number): StoredDocument {
  const place = `the document of label ${label}`;
  const document = jsonIn(entry, place, { isExact: true }) as Partial<StoredDocument> | null;
  const { pageContent, metadata = {}, id } = document ?? {};
  if (typeof pageContent !== 'string') throw new RowFault(`${place} has no pageContent`);
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw new RowFault(`the metadata of ${place} is not an object`);
  return { pageContent, metadata, ...(id !== undefined && id !== null && { id }) };
}
