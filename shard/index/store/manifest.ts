/**
 * The manifest of a saved generation: JSON that an operator can read. It is written last, so where it exists the
 * generation is complete.
 *
 *   {"version":1,"collection_id":…,…,"payload":{"size_bytes":…,"blake3":…},"rows":{…},"checksum":"BLAKE3 of all before"}
 */
import { hash, toHex } from '../../../shared/hashing/hash.js';
import { INDEX_KINDS, type IndexKind, type IndexParameters } from '../../../shared/model/indexSpec.js';

const VERSION = 1;

/** Thrown for a saved generation that does not verify. It must not be opened, and can be rebuilt. */
export class DamagedGeneration extends Error {
  override readonly name = 'DamagedGeneration';
}

/** Thrown for a saved generation that another version of this program wrote, and that this one cannot read. */
export class UnknownGeneration extends Error {
  override readonly name = 'UnknownGeneration';
}

/** The identity of a generation: its manifest without the files. */
export interface GenerationFacts {
  readonly collectionId: number;
  /** Time of the collection's genesis, so that another collection's generation is never taken for this one's. */
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
  /** Ordinals in the rows file. */
  readonly rowCount: number;
  readonly payload: FileFacts;
  readonly rows: FileFacts;
}

type Fields = Readonly<Record<string, unknown>>;

const PARAMETER_NAMES: readonly (readonly [keyof IndexParameters, string])[] = [
  ['m', 'm'],
  ['efConstruction', 'ef_construction'],
  ['efSearch', 'ef_search'],
  ['nList', 'n_list'],
  ['nProbe', 'n_probe'],
  ['candidates', 'candidates'],
];

/** Returns the only valid text of this manifest. */
export function encodeManifest({ facts, rowCount, payload, rows }: Manifest): string {
  const content = {
    version: VERSION,
    collection_id: facts.collectionId,
    created_at_ms: facts.createdAtMs,
    dimension: facts.dimension,
    number: facts.number,
    kind: facts.kind,
    parameters: Object.fromEntries(PARAMETER_NAMES.map(([name, stored]) => [stored, facts.parameters[name]])),
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
  // A valid checksum distinguishes another version from damage.
  const { checksum, ...content } = stored;
  if (stored.version !== undefined && stored.version !== VERSION && checksum === checksumOf(content))
    throw new UnknownGeneration(
      `manifest version ${String(stored.version)} is not known here; this program reads version ${VERSION}`,
    );
  const parameters = fieldsOf(stored.parameters);
  const manifest = {
    facts: {
      collectionId: stored.collection_id as number,
      createdAtMs: stored.created_at_ms as number,
      dimension: stored.dimension as number,
      number: stored.number as number,
      kind: stored.kind as IndexKind,
      parameters: Object.fromEntries(
        PARAMETER_NAMES.flatMap(([name, key]) => (parameters[key] === undefined ? [] : [[name, parameters[key]]])),
      ),
      sequence: stored.sequence as number,
      trainedRows: stored.trained_rows as number,
    },
    rowCount: stored.row_count as number,
    payload: decodeFile(fieldsOf(stored.payload)),
    rows: decodeFile(fieldsOf(stored.rows)),
  };
  // Also compares the order of the fields and the spaces between them.
  if (encodeManifest(manifest) !== text) throw new DamagedGeneration('its manifest does not verify');
  if (!INDEX_KINDS.includes(manifest.facts.kind))
    throw new UnknownGeneration(`index kind ${String(stored.kind)} is not known here`);
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
