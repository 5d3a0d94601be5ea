/**
 * The manifest of a saved generation: JSON that an operator can read. It is written last: a generation with a manifest
 * is complete. The checksum is the BLAKE3 of this JSON without the field `checksum`.
 *
 *   {"version":1,"collection_id":…,…,"payload":{"size_bytes":…,"blake3":…},"rows":{…},"checksum":"…"}
 */
import { hash, toHex } from '../../../shared/hashing/hash.js';
import { namedParameters, parametersOf } from '../../../shared/model/indexParameters.js';
import { INDEX_KINDS, type IndexKind, type IndexParameters } from '../../../shared/model/indexSpec.js';

const VERSION = 1;

/** Thrown for a saved generation that does not verify. It must not be opened, and can be rebuilt. */
export class DamagedGeneration extends Error {
  override readonly name = 'DamagedGeneration';
}

/** Thrown for a saved generation of a version, or of an index kind, that this program does not know. It stays in place. */
export class UnknownGeneration extends Error {
  override readonly name = 'UnknownGeneration';
}

/** Facts about a generation: its manifest without its files. */
export interface GenerationFacts {
  readonly collectionId: number;
  /** Time of the collection's genesis: it differs in a collection that has the id in another installation. */
  readonly createdAtMs: number;
  readonly dimension: number;
  readonly number: number;
  readonly kind: IndexKind;
  readonly parameters: IndexParameters;
  /** Number of committed events that it covers. */
  readonly sequence: number;
  /** Live rows when the index was last built from scratch. */
  readonly trainedRows: number;
}

/** Expected content of a file of a generation. */
export interface FileFacts {
  readonly sizeBytes: number;
  /** BLAKE3 as 64 hex digits. */
  readonly checksum: string;
}

export interface Manifest {
  readonly facts: GenerationFacts;
  /** Number of ordinals in the rows file. */
  readonly rowCount: number;
  readonly payload: FileFacts;
  readonly rows: FileFacts;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the text of a manifest. `decodeManifest` accepts no other text of it. */
export function encodeManifest({ facts, rowCount, payload, rows }: Manifest): string {
  const content = {
    version: VERSION,
    collection_id: facts.collectionId,
    created_at_ms: facts.createdAtMs,
    dimension: facts.dimension,
    number: facts.number,
    kind: facts.kind,
    parameters: namedParameters(facts.parameters),
    sequence: facts.sequence,
    trained_rows: facts.trainedRows,
    row_count: rowCount,
    payload: { size_bytes: payload.sizeBytes, blake3: payload.checksum },
    rows: { size_bytes: rows.sizeBytes, blake3: rows.checksum },
  };
  return `${JSON.stringify({ ...content, checksum: checksumOf(content) })}\n`;
}

/** Reads and verifies a manifest. Throws DamagedGeneration, or UnknownGeneration. */
export function decodeManifest(text: string): Manifest {
  const stored = parse(text);
  // A valid checksum distinguishes another version from damage.
  const { checksum, ...content } = stored;
  if (stored.version !== undefined && stored.version !== VERSION && checksum === checksumOf(content))
    throw new UnknownGeneration(
      `its manifest has version ${String(stored.version)}; this program reads version ${VERSION}`,
    );
  const manifest = {
    facts: {
      collectionId: stored.collection_id as number,
      createdAtMs: stored.created_at_ms as number,
      dimension: stored.dimension as number,
      number: stored.number as number,
      kind: stored.kind as IndexKind,
      parameters: parametersOf(fieldsOf(stored.parameters)),
      sequence: stored.sequence as number,
      trainedRows: stored.trained_rows as number,
    },
    rowCount: stored.row_count as number,
    payload: decodeFile(fieldsOf(stored.payload)),
    rows: decodeFile(fieldsOf(stored.rows)),
  };
  // Verifies the checksum, and the order and spacing of the fields.
  if (encodeManifest(manifest) !== text) throw new DamagedGeneration('its manifest does not verify');
  if (!INDEX_KINDS.includes(manifest.facts.kind))
    throw new UnknownGeneration(`its index kind is ${String(stored.kind)}; this program has ${INDEX_KINDS.join(', ')}`);
  return manifest;
}

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
