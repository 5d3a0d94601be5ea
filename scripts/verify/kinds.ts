/** Recognises what a file holds: a command that is given a file of another kind says which command checks it. */
import { commandText } from '../terminal/commandLine.js';

/** Kinds of files in JSON that a command takes. */
export type FileKind = 'receipt' | 'inclusion' | 'consistency' | 'checkpoint' | 'erasure' | 'record' | 'accessHead';
/** Kinds of all files that a command takes. */
type TakenKind = FileKind | 'export' | 'policy' | 'folder' | 'access';

type Fields = Readonly<Record<string, unknown>>;

interface Kind {
  /** With its article. */
  readonly what: string;
  /** Whether an object of JSON is such a file, as far as the names of its fields say. */
  readonly is: (fields: Fields) => boolean;
  /** Advises what to do with the file. */
  readonly advice: (file: string, fields: Fields) => string;
}

const checkedBy = (args: string): string => `${commandText('verify', args)} checks it`;
const isThere = (value: unknown): boolean => value !== undefined;

const TAKEN: Readonly<Record<FileKind, Kind & { readonly fields: string }>> = {
  consistency: {
    what: 'a consistency proof',
    fields: 'from, to and proof',
    is: ({ from, to, proof }) => [from, to, proof].every(isThere),
    advice: (file) => checkedBy(`consistency ${file}`),
  },
  inclusion: {
    what: 'an inclusion proof',
    fields: 'sequence, size, root and proof',
    is: ({ root, size, proof }) => [root, size, proof].every(isThere),
    advice: (file) => checkedBy(`inclusion ${file}`),
  },
  receipt: {
    what: 'a receipt',
    fields: 'record_id, sequence, proof and others, or an answer with a receipt',
    is: ({ receipt, proof, ...fields }) =>
      isThere(receipt) || (isThere(proof) && RECEIPT.some((name) => name in fields)),
    advice: (file) => checkedBy(`receipt ${file}`),
  },
  erasure: {
    what: 'a certificate of erasure',
    fields: 'certificate, signature and collections, or an answer with certificates',
    is: ({ certificate, certificates }) => isThere(certificate) || isThere(certificates),
    advice: (file) => checkedBy(`erasure ${file}`),
  },
  checkpoint: {
    what: 'a checkpoint',
    fields: 'checkpoint, signature and public_key',
    is: ({ checkpoint, note, signature }) => isThere(signature) && (isThere(checkpoint) || isThere(note)),
    advice: (file) => checkedBy(`checkpoint ${file}`),
  },
  accessHead: {
    what: 'the head of an access log',
    fields: 'size, chain_head and root, as an answer of GET /v1/access has them',
    is: ({ size, chain_head, root }) => [size, chain_head, root].every(isThere),
    advice: (file) => checkedBy(`access FILE --checkpoint ${file}`),
  },
  record: {
    what: 'a record',
    fields: 'values, as the body of the insert has them',
    is: ({ values, vector, deleted }) => [values, vector, deleted].some(isThere),
    advice: (file) => `give it with --record: ${commandText('verify', `receipt RECEIPT --record ${file}`)}`,
  },
};

/** Fields that only receipts have. */
const RECEIPT = ['record_id', 'old_root', 'new_root', 'state_hash'];

/** Answers of the service that prove nothing. */
const UNPROVED: readonly Kind[] = [
  {
    what: 'an error of the service',
    is: ({ error }) => typeof error === 'string',
    advice: (_, { error }) => `it says ${JSON.stringify(error)}`,
  },
  {
    what: 'the answer to a batch',
    is: ({ ids }) => isThere(ids),
    advice: () => 'it holds no receipts: GET /v1/proof/receipt has that of each write',
  },
  {
    what: 'a state without a signature',
    is: (fields) => 'final_state_hash' in fields,
    advice: () => 'GET /v1/proof/checkpoint has a signed one',
  },
  {
    what: 'a list of public keys',
    is: ({ keys }) => isThere(keys),
    advice: () => 'give one of them with --key',
  },
];

const WHAT: Readonly<Record<TakenKind, string>> = {
  ...(Object.fromEntries(Object.entries(TAKEN).map(([name, { what }]) => [name, what])) as Record<FileKind, string>),
  export: 'an export',
  policy: 'a policy',
  folder: 'a data folder',
  access: 'a copy of an access log',
};

/** The error for a file that is not of the kind that the command takes. */
const notA = (kind: TakenKind, name: string, what: string, advice: string): Error =>
  new Error(`${name} is ${what}, not ${WHAT[kind]}: ${advice}`);

/** Throws an Error of one line unless JSON is of the kind, as far as the names of its fields say. `name`: for messages. */
export function assertKind(kind: FileKind, json: unknown, file: string, name: string): void {
  const fields = fieldsOf(json);
  if (fields === undefined) throw new Error(`${name} is not ${WHAT[kind]}: it is not an object of JSON`);
  if (TAKEN[kind].is(fields)) return;
  assertNoOther(kind, fields, file, name);
  throw new Error(`${name} is not ${WHAT[kind]}, which has the fields ${TAKEN[kind].fields}`);
}

/** Throws an Error of one line if JSON is of a known kind: the command takes a file of `kind`. */
export function assertNoOther(kind: TakenKind, json: unknown, file: string, name: string): void {
  const fields = fieldsOf(json) ?? {};
  const found = [...UNPROVED, ...Object.values(TAKEN)].find(({ is }) => is(fields));
  if (found !== undefined) throw notA(kind, name, found.what, found.advice(file, fields));
}

/** Throws an Error of one line if bytes that are not JSON are of a known kind: the command takes a file of `kind`. */
export function assertNoOtherText(kind: TakenKind, bytes: Uint8Array, file: string, name: string): void {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES)).toString('utf8');
  const refuse = (what: string, advice: string): never => {
    throw notA(kind, name, what, advice);
  };
  if (kind !== 'export' && text.startsWith('VOUCHLOG')) refuse('an export', checkedBy(`log ${file}`));
  const magic = Buffer.from(bytes.subarray(FRAME_LENGTH_BYTES, FRAME_LENGTH_BYTES + ACCESS_MAGIC.length));
  if (kind !== 'access' && magic.toString('latin1') === ACCESS_MAGIC)
    refuse('a copy of an access log', checkedBy(`access ${file}`));
  if (text.startsWith('vouch checkpoint v1\n'))
    refuse('the text of a checkpoint', 'the whole answer of GET /v1/proof/checkpoint is signed');
  if (text.includes('\n\n— '))
    refuse('a checkpoint of a service log', `${commandText('monitor', '--log URL --policy FILE')} follows one`);
  if (kind !== 'policy' && /^quorum\s/m.test(text)) refuse('a policy', 'give it with --policy');
}

const HEAD_BYTES = 4_096;
/** Begins each frame of an access log, after its length. */
const ACCESS_MAGIC = 'VAF1';
const FRAME_LENGTH_BYTES = 4;

const fieldsOf = (json: unknown): Fields | undefined =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Fields) : undefined;
