/** Certificates of erasure: which contents a destroyed key has made unreadable (`docs/formats/erasure.md`). */
import { type Actor, actorBytes, isActor } from './actor.js';
import { concat, equal, fromHex, toHex, toUtf8, u8, u64 } from './bytes.js';
import { type Checkpoint, verifyCheckpoint } from './checkpoint.js';
import { chainHead, eventHash, H, stateHash, stateRoot } from './hashing.js';
import { base64urlOf, hexOf, type JsonObject, objectOf, textOf, wholeOf } from './json.js';
import { verifyInclusion } from './logProofs.js';
import { leafOfKeyed } from './records.js';
import { signedTextIn } from './signedText.js';
import { type LoggedCheckpoint, verifyLogged } from './tlog/logged.js';
import type { Policy } from './tlog/policy.js';
import { hashFromPath, pathLength } from './tree.js';

/** An event whose content was under the key. */
export interface ErasedContent {
  readonly sequence: bigint;
  readonly recordId: bigint;
  readonly timeMs: bigint;
  readonly type: ContentType;
  /** In hex; of an encrypted payload the hash of nonce and ciphertext. */
  readonly commitment: string;
  /** Whether the signed state has the record, under the key and with this commitment. */
  readonly isInState: boolean;
}

export interface ErasedCollection {
  readonly checkpoint: Checkpoint;
  /** With a policy: the checkpoint of the service log that has the checkpoint. */
  readonly log: LoggedCheckpoint['log'] | undefined;
  /** The public key that the statement is signed with, in hex. */
  readonly publicKey: string;
  /** The event that shredded the key. */
  readonly shred: { readonly sequence: bigint; readonly timeMs: bigint; readonly actor: Actor | null };
  readonly contents: readonly ErasedContent[];
}

export interface Erasure {
  readonly project: string;
  readonly keyId: string;
  /** The time of the signature. */
  readonly timeMs: bigint;
  readonly publicKey: string;
  readonly collections: readonly ErasedCollection[];
  /** Ids of collections that do not exist any more. */
  readonly deleted: readonly bigint[];
}

const TYPES = {
  insert_encrypted: 6,
  insert_under_key: 15,
  replace_under_key: 16,
  update_under_key: 17,
} as const;
export type ContentType = keyof typeof TYPES;

const WHOLE = '(?:0|[1-9][0-9]{0,15})';
const HASH = '[0-9a-f]{64}';
const KEY = '[0-9a-f]{32}';
const CERTIFICATE = new RegExp(
  `^vouch erasure v1\n([^/\n]+)\n(${KEY})\n(${WHOLE})\n((?:${WHOLE} (?:${HASH}|deleted)\n)*)$`,
);
const STATEMENT = new RegExp(
  `^vouch erased contents v1\n([^/\n]+/[^/\n]+/${WHOLE}/${HASH})\n(${KEY})\n(${WHOLE})\n(${HASH})\n(${WHOLE})\n(${HASH})\n(${WHOLE})\n$`,
);
const SHRED_KEY = 7;
const HASH_BYTES = 32;

/**
 * Verifies a certificate, all its signatures and proofs. Takes one of `certificates` in the parsed answer of the service. With a
 * policy, each checkpoint must be in a service log that the policy accepts. The caller decides which public keys it trusts. Throws
 * an Error that names the part that does not hold.
 */
export function verifyErasure(json: unknown, policy?: Policy): Erasure {
  const object = objectOf(json, 'the certificate');
  const { text, publicKey } = signedTextIn(object, 'certificate');
  const [project, keyId, timeMs, list] = matched(CERTIFICATE, text, 'a certificate of erasure');
  if (textOf(object, 'key_id') !== keyId) throw new Error('key_id is not that of the certificate');
  const listed = linesOf(list!);
  const parts = arrayOf(object, 'collections').map((part) => objectOf(part, 'a collection'));
  const present = listed.filter(([, statement]) => statement !== 'deleted');
  if (parts.length !== present.length) throw new Error('it has other collections than its text names');
  const collections = parts.map((part, i) => {
    const [id, statement] = present[i]!;
    try {
      if (hashOfStatement(textOf(part, 'statement')) !== statement)
        throw new Error('the statement is not the one of the certificate');
      return collectionIn(part, { project: project!, id, keyId: keyId! }, policy);
    } catch (error) {
      throw new Error(`collection ${id}: ${(error as Error).message}`, { cause: error });
    }
  });
  const deleted = listed.filter(([, statement]) => statement === 'deleted').map(([id]) => id);
  return { project: project!, keyId: keyId!, timeMs: BigInt(timeMs!), publicKey, collections, deleted };
}

/** The public keys of all signatures of a certificate, each once. */
export const signersOf = ({ publicKey, collections }: Erasure): string[] => [
  ...new Set([publicKey, ...collections.flatMap((one) => [one.publicKey, one.checkpoint.publicKey])]),
];

interface Expected {
  readonly project: string;
  readonly id: bigint;
  readonly keyId: string;
}

function collectionIn(
  part: JsonObject,
  { project, id, keyId }: Expected,
  policy: Policy | undefined,
): ErasedCollection {
  const { text, publicKey } = signedTextIn(part, 'statement');
  const [origin, ofKey, size, root, shredSequence, contentsHash] = matched(STATEMENT, text, 'a statement of erasure');
  const logged = policy && verifyLogged(part.checkpoint, policy);
  const checkpoint = logged?.checkpoint ?? verifyCheckpoint(part.checkpoint);
  const { origin: of } = checkpoint;
  const expect = (holds: boolean, problem: string): void => {
    if (!holds) throw new Error(problem);
  };
  expect(ofKey === keyId, 'the statement is about another key');
  expect(origin === `${of.project}/${of.name}/${of.id}/${of.configHash}`, 'the checkpoint is of another collection');
  expect(of.project === project && of.id === id, 'it is another collection than the certificate names');
  expect(textOf(part, 'collection') === of.name, 'collection is not the name in the checkpoint');
  expect(wholeOf(part, 'collection_id') === id, 'collection_id is not the id in the checkpoint');
  expect(checkpoint.size === BigInt(size!), 'the checkpoint has another size than the statement');
  expect(checkpoint.root === root, 'the checkpoint has another root than the statement');
  const key = fromHex(keyId);
  const shred = shredIn(objectOf(part.shred, 'shred'), checkpoint, key);
  expect(shred.sequence === BigInt(shredSequence!), 'the statement names another event of the shred');
  const state = part.state === undefined ? undefined : objectOf(part.state, 'state');
  const contents = arrayOf(part, 'contents').map((content) => {
    const one = objectOf(content, 'a content');
    return contentIn(one, checkpoint, (keyed) => isInState(one, { ...keyed, key }, checkpoint, state));
  });
  expect(state === undefined || contents.some((one) => one.isInState), 'state is of no record');
  expect(
    contents.every(({ sequence }, i) => sequence > (contents[i - 1]?.sequence ?? 0n) && sequence < shred.sequence),
    'its contents are not in order, or not before the shred',
  );
  expect(hashOfContents(contents) === contentsHash, 'its contents are not those of the statement');
  return { checkpoint, log: logged?.log, publicKey, shred, contents };
}

/** The event is rebuilt from its time, actor and key: nothing else is in it. */
function shredIn(json: JsonObject, checkpoint: Checkpoint, key: Uint8Array): ErasedCollection['shred'] {
  const [sequence, timeMs] = [wholeOf(json, 'sequence'), wholeOf(json, 'time_ms')];
  const actor = json.actor === undefined ? null : actorIn(json.actor);
  const version = actor === null ? 1 : 2;
  const event = concat([u8(version), u8(SHRED_KEY), new Uint8Array(6), u64(sequence), u64(timeMs), key]);
  const before = hexOf(json, 'chain_head_before', HASH_BYTES);
  const head = chainHead(before, eventHash(event), actor && actorBytes(actor));
  if (!equal(head, headIn(json, sequence, checkpoint))) throw new Error('the event of the shred is another one');
  return { sequence, timeMs, actor };
}

function actorIn(json: unknown): Actor {
  const object = objectOf(json, 'actor');
  const actor = {
    keyId: textOf(object, 'key_id'),
    ...('on_behalf_of' in object && { onBehalfOf: textOf(object, 'on_behalf_of') }),
    ...('request_id' in object && { requestId: textOf(object, 'request_id') }),
  };
  if (!isActor(json, actor)) throw new Error('actor has unknown fields');
  return actor;
}

/** The chain head after the event, which is proved to be in the log of the checkpoint. */
function headIn(json: JsonObject, sequence: bigint, { size, root }: Checkpoint): Uint8Array {
  try {
    const { proof } = json;
    return verifyInclusion({ sequence: Number(sequence), size: Number(size), root, proof }).chainHead;
  } catch (error) {
    throw new Error(`event ${sequence} is not in the log: ${(error as Error).message}`, { cause: error });
  }
}

type Content = Omit<ErasedContent, 'isInState'>;

function contentIn(json: JsonObject, checkpoint: Checkpoint, isKept: (content: Content) => boolean): ErasedContent {
  const type = textOf(json, 'event_type');
  if (!Object.hasOwn(TYPES, type)) throw new Error(`an event ${type} writes no content under a key`);
  const content = {
    sequence: wholeOf(json, 'sequence'),
    recordId: wholeOf(json, 'record_id'),
    timeMs: wholeOf(json, 'time_ms'),
    type: type as ContentType,
    commitment: toHex(hexOf(json, 'commitment', HASH_BYTES)),
  };
  headIn(json, content.sequence, checkpoint);
  return { ...content, isInState: isKept(content) };
}

/** Whether the certificate has the record of the content. Throws an Error unless that is in the signed state. */
function isInState(
  { record: json }: JsonObject,
  { key, type, recordId, commitment }: Content & { readonly key: Uint8Array },
  checkpoint: Checkpoint,
  state: JsonObject | undefined,
): boolean {
  if (json === undefined) return false;
  if (state === undefined) throw new Error('state is missing');
  const [record, of] = [objectOf(json, 'record'), `record ${recordId}`];
  const word = textOf(record, 'state');
  if (word !== 'live' && word !== 'tombstoned') throw new Error(`${of}: its state is ${word}`);
  const leaf = leafOfKeyed({
    isPayload: type === 'insert_encrypted',
    state: word,
    id: recordId,
    tag: wholeOf(record, 'tag'),
    insertedMs: wholeOf(record, 'inserted_ms'),
    expiresAtMs: record.expires_at_ms === undefined ? null : wholeOf(record, 'expires_at_ms'),
    keyId: key,
    commitment: fromHex(commitment),
  });
  const records = wholeOf(state, 'records');
  const bytes = textOf(record, 'path') === '' ? new Uint8Array(0) : base64urlOf(record, 'path');
  const path = Array.from({ length: Math.ceil(bytes.length / HASH_BYTES) }, (_, i) =>
    bytes.subarray(HASH_BYTES * i, HASH_BYTES * (i + 1)),
  );
  const index = recordId - 1n;
  const fits = index >= 0n && index < records && path.length === pathLength(index, records);
  if (!fits || path.some(({ length }) => length !== HASH_BYTES)) throw new Error(`${of}: its path is malformed`);
  const hash = stateHash({
    configHash: fromHex(checkpoint.origin.configHash),
    stateRoot: stateRoot(records, hashFromPath(leaf, { index, size: records }, path)),
    graphRoot: hexOf(state, 'graph_root', HASH_BYTES),
    chainHead: fromHex(checkpoint.chainHead),
    sequence: checkpoint.size - 1n,
    timeMs: wholeOf(state, 'time_ms'),
  });
  if (toHex(hash) !== checkpoint.stateHash) throw new Error(`${of} is not in the signed state with this content`);
  return true;
}

/** Id and hash of each line, by id. */
function linesOf(list: string): (readonly [id: bigint, statement: string])[] {
  const lines = list
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ') as [string, string])
    .map(([id, statement]) => [BigInt(id), statement] as const);
  if (lines.some(([id], i) => i > 0 && id <= lines[i - 1]![0])) throw new Error('its collections are not in order');
  return lines;
}

const hashOfStatement = (text: string): string => toHex(H(u8(0x1d), toUtf8(text)));

const hashOfContents = (contents: readonly Content[]): string =>
  toHex(
    H(
      u8(0x1c),
      ...contents.flatMap(({ sequence, recordId, timeMs, type, commitment }) => [
        ...[u64(sequence), u64(recordId), u64(timeMs)],
        ...[u8(TYPES[type]), new Uint8Array(7), fromHex(commitment)],
      ]),
    ),
  );

/** The groups of the expression. Throws an Error if the text does not match. */
function matched(expression: RegExp, text: string, what: string): string[] {
  const found = expression.exec(text);
  // A lone surrogate has no UTF-8: another text would be signed.
  if (found === null || /\p{Surrogate}/u.test(text)) throw new Error(`the text is not that of ${what} of version 1`);
  return found.slice(1);
}

function arrayOf(object: JsonObject, field: string): readonly unknown[] {
  const value = object[field];
  if (!Array.isArray(value)) throw new Error(`${field} is not a list`);
  return value;
}
