/**
 * What is known of a saved generation, as JSON that an operator can read. It is written last: where it is, all is.
 *
 *   {"version":1,"collection_id":…,…,"payload":{"size_bytes":…,"blake3":…},"rows":{…},"checksum":"BLAKE3 of all before"}
 */
import { hash, toHex } from '../../../shared/hash.js';
import { INDEX_KINDS, type IndexKind, type IndexParameters } from '../../../shared/indexSpec.js';
import type { GenerationFacts } from '../build/order.js';
import { DamagedGeneration, UnknownGeneration } from './damagedGeneration.js';

const VERSION = 1;

/** What a file of a generation must be. */
export interface FileFacts {
  readonly sizeBytes: number;
  /** 64 hex of BLAKE3. */
  readonly checksum: string;
}

export interface Manifest {
  readonly facts: GenerationFacts;
  /** Ordinals in the rows file. */
  readonly rowCount: number;
  readonly payload: FileFacts;
  readonly rows: FileFacts;
}

type Fields = Readonly<Record<string, unknown>>;

/** The one text that a manifest has. */
export function encodeManifest({ facts, rowCount, payload, rows }: Manifest): string {
  const content = {
    version: VERSION,
    collection_id: facts.collectionId,
    created_at_ms: facts.createdAtMs,
    dimension: facts.dimension,
    number: facts.number,
    kind: facts.kind,
    parameters: encodeParameters(facts.parameters),
    sequence: facts.sequence,
    trained_rows: facts.trainedRows,
    row_count: rowCount,
    payload: { size_bytes: payload.sizeBytes, blake3: payload.checksum },
    rows: { size_bytes: rows.sizeBytes, blake3: rows.checksum },
  };
  return `${JSON.stringify({ ...content, checksum: checksumOf(content) })}\n`;
}

/** Throws UnknownGeneration and DamagedGeneration. */
export function decodeManifest(text: string): Manifest {
  const stored = parse(text);
  if (stored.version !== undefined && stored.version !== VERSION && isSealed(stored))
    throw new UnknownGeneration(
      `manifest version ${String(stored.version)} is not known here; this program reads version ${VERSION}`,
    );
  const manifest = {
    facts: {
      collectionId: stored.collection_id as number,
      createdAtMs: stored.created_at_ms as number,
      dimension: stored.dimension as number,
      number: stored.number as number,
      kind: stored.kind as IndexKind,
      parameters: decodeParameters(fieldsOf(stored.parameters)),
      sequence: stored.sequence as number,
      trainedRows: stored.trained_rows as number,
    },
    rowCount: stored.row_count as number,
    payload: decodeFile(fieldsOf(stored.payload)),
    rows: decodeFile(fieldsOf(stored.rows)),
  };
  // With the checksum this compares the order of the fields and the space between them as well.
  if (encodeManifest(manifest) !== text) throw new DamagedGeneration('its manifest does not verify');
  if (!INDEX_KINDS.includes(manifest.facts.kind))
    throw new UnknownGeneration(`index kind ${String(stored.kind)} is not known here`);
  return manifest;
}

/** Of whatever version: what ends with its checksum was meant, and what does not was damaged. */
const isSealed = ({ checksum, ...content }: Fields): boolean => checksum === checksumOf(content);

const checksumOf = (content: Fields): string => toHex(hash(Buffer.from(JSON.stringify(content))));

function parse(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    throw new DamagedGeneration('its manifest is not JSON');
  }
}

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

const decodeFile = (stored: Fields): FileFacts => ({
  sizeBytes: stored.size_bytes as number,
  checksum: stored.blake3 as string,
});

/** What is absent is left out of the JSON. */
const encodeParameters = ({ m, efConstruction, efSearch, nList, nProbe, candidates }: IndexParameters): Fields => ({
  m,
  ef_construction: efConstruction,
  ef_search: efSearch,
  n_list: nList,
  n_probe: nProbe,
  candidates,
});

function decodeParameters(stored: Fields): IndexParameters {
  const given = {
    m: stored.m,
    efConstruction: stored.ef_construction,
    efSearch: stored.ef_search,
    nList: stored.n_list,
    nProbe: stored.n_probe,
    candidates: stored.candidates,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
