/** The header and trailer of an export, compared with the log in it. */
import { type Actor, actorBytes, actorText, readActor } from './actor.js';
import { concat, equal, toHex, toUtf8, u8, u32, u64 } from './bytes.js';
import { type Checkpoint, notOfLog, verifyCheckpoint } from './checkpoint.js';
import type { LogGenesis, TextSettings } from './events.js';
import type { ExportFile } from './exportFile.js';
import { ABSENT, chainHead, eventHash, logRoot, stateHash, stateRoot } from './hashing.js';
import { hexOf, type JsonObject, objectOf, textOf, wholeOf } from './json.js';
import type { LogReport } from './log.js';
import type { LogState } from './replay.js';

export interface ExportClaims {
  readonly problems: readonly string[];
  /** The genesis of the log. If the log is empty: the one that the header describes. */
  readonly genesis: LogGenesis | undefined;
  readonly checkpoint: Checkpoint | undefined;
}

/** Compares an export's claims with its log, after `verifyLog`. Only the file's hash covers `index` and `exported_at_ms`. */
export function checkExport(file: ExportFile, report: LogReport, knownKey?: string): ExportClaims {
  const problems: string[] = [];
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      problems.push((error as Error).message);
      return undefined;
    }
  };
  const stated = attempt(() => readHeader(file.header ?? {}));
  const genesis = report.genesis ?? stated;
  if (stated !== undefined && genesis !== undefined) problems.push(...headerProblems(stated, genesis));
  if (genesis === undefined) return { problems, genesis, checkpoint: undefined };
  const state = report.size > 0n ? report.state : stateBefore(genesis);
  const trailer = file.trailer ?? {};
  attempt(() => problems.push(...trailerProblems(trailer, report, state)));
  const checkpoint = attempt(() => {
    const signed = readCheckpoint(trailer, knownKey);
    problems.push(...notOfLog(signed, report.size, state).map((problem) => `the trailer's checkpoint: ${problem}`));
    return signed;
  });
  if (!file.hashHolds)
    problems.push(
      'the hash at the end is not that of the file: the header, the trailer or the hash itself was altered',
    );
  return { problems, genesis, checkpoint };
}

function readCheckpoint(trailer: JsonObject, knownKey: string | undefined): Checkpoint {
  try {
    return verifyCheckpoint(trailer.checkpoint, knownKey);
  } catch (error) {
    throw new Error(`the trailer's checkpoint: ${(error as Error).message}`);
  }
}

/** The genesis that the header describes. */
function readHeader(header: JsonObject): LogGenesis {
  if (header.format !== 1) throw new Error(`the header: format ${header.format} is not known`);
  if (header.metric !== 'squared_l2') throw new Error(`the header: metric ${header.metric} is not known`);
  const origin = objectOf(header.origin, "the header's origin");
  objectOf(header.index, "the header's index");
  wholeOf(header, 'exported_at_ms');
  return {
    type: 'genesis',
    sequence: 0n,
    timeMs: wholeOf(header, 'created_at_ms'),
    collectionId: wholeOf(origin, 'id'),
    dimension: Number(wholeOf(header, 'dimension')),
    normalise: flagOf(header, 'normalise'),
    text: textIn(header),
    project: textOf(origin, 'project'),
    name: textOf(origin, 'name'),
    actor: creatorIn(header),
  };
}

function creatorIn(header: JsonObject): Actor | null {
  if (header.created_by === undefined) return null;
  const named = objectOf(header.created_by, "the header's created_by");
  const optional = (field: string): string | undefined =>
    named[field] === undefined ? undefined : textOf(named, field);
  const [onBehalfOf, requestId] = [optional('on_behalf_of'), optional('request_id')];
  const actor = { keyId: textOf(named, 'key_id'), ...(onBehalfOf && { onBehalfOf }), ...(requestId && { requestId }) };
  return readActor(actorBytes(actor));
}

function textIn(header: JsonObject): TextSettings | null {
  if (header.text === undefined) return null;
  const text = objectOf(header.text, "the header's text");
  return { language: textOf(text, 'language'), version: Number(wholeOf(text, 'version')) };
}

/** True or absent. */
function flagOf(header: JsonObject, field: string): boolean {
  const value = header[field];
  if (value !== undefined && value !== true)
    throw new Error(`the header: ${field} is not true; leave it out for false`);
  return value === true;
}

function headerProblems(stated: LogGenesis, genesis: LogGenesis): string[] {
  const fields = ['project', 'name', 'collectionId', 'dimension', 'normalise', 'timeMs'] as const;
  const problems = fields
    .filter((field) => stated[field] !== genesis[field])
    .map((field) => `the header says ${NAMES[field]} ${stated[field]}, the genesis ${genesis[field]}`);
  const [saidText, loggedText] = [stated, genesis].map(textSettingsText);
  if (saidText !== loggedText) problems.push(`the header says ${saidText}, the genesis ${loggedText}`);
  const [said, logged] = [stated.actor, genesis.actor].map((actor) => (actor === null ? 'no actor' : actorText(actor)));
  return said === logged ? problems : [...problems, `the header says created_by ${said}, the genesis ${logged}`];
}

/** The language of texts, as a message names it. */
export const textSettingsText = ({ text }: Pick<LogGenesis, 'text'>): string =>
  text === null ? 'no text language' : `text language ${text.language}, version ${text.version}`;

const NAMES = {
  project: 'project',
  name: 'name',
  collectionId: 'id',
  dimension: 'dimension',
  normalise: 'normalise',
  timeMs: 'created_at_ms',
} as const;

function trailerProblems(trailer: JsonObject, report: LogReport, state: LogState): string[] {
  const head = report.size > 0n ? state.chainHead : ABSENT;
  const counts = { frames: BigInt(report.frames), sequence: state.sequence, log_bytes: report.logBytes };
  const hashes = { chain_head: head, log_root: state.logRoot, state_hash: state.stateHash };
  return [
    ...Object.entries(counts).filter(([field, value]) => wholeOf(trailer, field) !== value),
    ...Object.entries(hashes).filter(([field, value]) => !equal(hexOf(trailer, field, 32), value)),
  ].map(
    ([field, value]) =>
      `the trailer has another ${field}: the log's is ${typeof value === 'bigint' ? value : toHex(value)}`,
  );
}

/** The state of a collection before its first write, as its genesis will make it. */
export function stateBefore(genesis: LogGenesis): LogState {
  const { collectionId, dimension, normalise, text, project, name, sequence, timeMs, actor } = genesis;
  const [projectBytes, nameBytes] = [toUtf8(project), toUtf8(name)];
  const header = [u8(actor === null ? 1 : 2), u8(1), new Uint8Array(6), u64(sequence), u64(timeMs)];
  const flags = (normalise ? 1 : 0) | (text === null ? 0 : 2);
  const config = [u8(1), u8(projectBytes.length % 256), u8(nameBytes.length % 256), u8(flags)];
  const language = toUtf8(text?.language ?? '');
  const texts = text === null ? [] : [u8(text.version % 256), u8(language.length % 256), language];
  const bytes = concat([...header, u64(collectionId), u32(dimension), ...config, projectBytes, nameBytes, ...texts]);
  const configHash = eventHash(bytes);
  const facts = {
    configHash,
    stateRoot: stateRoot(0n, ABSENT),
    graphRoot: ABSENT,
    chainHead: chainHead(ABSENT, configHash, actor === null ? null : actorBytes(actor)),
    sequence,
    timeMs,
  };
  return { ...facts, logRoot: logRoot(0n, ABSENT), stateHash: stateHash(facts) };
}
