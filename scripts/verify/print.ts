/** Prints the findings of the verifier to standard output, and returns the verdict. */
import {
  type Alteration,
  type FrameSource,
  flippedBitIn,
  isIntact,
  type LogReport,
  type Place,
  type Refusal,
  toHex,
} from '../../verifier/index.js';
import { counted, formatLine, grouped, printable, type Sign } from '../terminal/line.js';

/**
 * The result of a check. For the last two everything agrees. `unknownSigner`: no key was given that must have signed it.
 * `otherName`: something belongs to another collection than expected.
 */
export type Verdict = 'holds' | 'refused' | 'unknownSigner' | 'otherName';

const EXIT: Readonly<Record<Verdict, number>> = { holds: 0, refused: 1, unknownSigner: 3, otherName: 4 };
const WORST_FIRST = ['refused', 'otherName', 'unknownSigner', 'holds'] as const;

export const exitCodeOf = (verdict: Verdict): number => EXIT[verdict];

/** The worst of the verdicts; `holds` without any. */
export const worst = (verdicts: readonly Verdict[]): Verdict =>
  WORST_FIRST.find((verdict) => verdicts.includes(verdict)) ?? 'holds';

export function print(sign: Sign, name: string, text: string): void {
  process.stdout.write(`${formatLine(sign, name, printable(text))}\n`);
}

/** The time as ISO text; that of a damaged event may not be a date. */
export const instant = (ms: bigint): string => {
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString();
};

const placeText = ({ name, message, byte }: Place): string =>
  message === undefined ? `byte ${grouped(byte)} of ${name}` : `message ${message} of ${name}, byte ${grouped(byte)}`;

export const eventsText = ({ firstSequence, lastSequence }: Pick<Refusal, 'firstSequence' | 'lastSequence'>): string =>
  firstSequence === lastSequence ? `event ${firstSequence}` : `one of the events ${firstSequence} to ${lastSequence}`;

/** Prints that a log verifies, but differs from a claim that was proved. */
export function printAlteration(alteration: Alteration, source: FrameSource): void {
  const { firstSequence, lastSequence, seenAt } = alteration;
  const { event, place } = seenAt;
  const at = placeText(source.placeOf(place.position, place.offset));
  const where = event.sequence === lastSequence ? at : `before event ${event.sequence} at ${at}`;
  print('failed', 'altered', `${eventsText(alteration)}, ${where}`);
  const upTo = event.sequence === firstSequence ? '' : 'up to ';
  print('plain', 'its time', `${upTo}${instant(event.timeMs)}, by its own account`);
  if (firstSequence > 0n) print('plain', 'before it', `events 0 to ${firstSequence - 1n} are unchanged`);
}

/** Names the events that verify before the refusal. The events of a frame are replayed before the frame is refused as a whole. */
function beforeText({ size, state }: LogReport, { firstSequence }: Refusal): string {
  if (firstSequence === 0n) return 'nothing';
  const last = firstSequence < size ? '' : `; the last is of ${instant(state.timeMs)}`;
  return `events 0 to ${firstSequence - 1n} verify${last}`;
}

export function printRefusal(report: LogReport, refusal: Refusal): void {
  const { timeMs, place, what } = refusal;
  print('failed', 'refused', `${eventsText(refusal)}, ${placeText(place)}`);
  print('plain', '', what);
  const flipped = flippedIn(refusal);
  if (flipped !== undefined) print('plain', '', flipped);
  if (timeMs !== undefined) print('plain', 'its time', `${instant(timeMs)}, by its own account`);
  print('plain', 'before it', beforeText(report, refusal));
}

/** The one flipped bit that explains a wrong checksum, if any: then it is a fault of a disk, not a forgery. */
function flippedIn({ frame }: Refusal): string | undefined {
  if (frame === undefined || isIntact(frame.bytes)) return undefined;
  const { bytes, place } = frame;
  const flipped = flippedBitIn(bytes);
  if (flipped === undefined) return undefined;
  const { event } = flipped;
  const of = event === undefined ? 'around its events' : `in event ${event.sequence}, of ${instant(event.timeMs)}`;
  return `one flipped bit explains it, ${of}: ${placeText({ ...place, byte: place.byte + flipped.byte })}`;
}

/** Prints the signer. Without `knownKey` the verdict is `unknownSigner`. */
export function printSigner(publicKey: string, knownKey: string | undefined): Verdict {
  if (knownKey === undefined) {
    print('warning', 'signed with', publicKey);
    print('plain', '', 'this signer is unknown: give the key that the node printed, with --key');
    return 'unknownSigner';
  }
  print('done', 'signed with', `${publicKey}, the key that was given`);
  return 'holds';
}

export function printLog(report: LogReport): void {
  const { genesis, state, size, frames, logBytes, records, graph } = report;
  if (genesis === undefined) {
    print('warning', 'log', 'empty: nothing was ever written, or everything is lost');
    return;
  }
  const { project, name, collectionId, dimension, normalise, text } = genesis;
  const divided = normalise ? ', vectors divided by their length' : '';
  const stemmed = text === null ? '' : `, text language ${text.language}, version ${text.version}`;
  const named = `${project}/${name}, id ${collectionId}`;
  print('done', 'collection', `${named}, ${counted(dimension, 'dimension')}${divided}${stemmed}`);
  print('done', 'log', `${counted(size, 'event')} in ${counted(frames, 'frame')}, ${counted(logBytes, 'byte')}`);
  print('plain', '', `${instant(genesis.timeMs)} to ${instant(state.timeMs)}`);
  const { live, ever, encrypted, shreddedKeys } = records;
  const secret = encrypted === 0 ? '' : `; ${grouped(encrypted)} encrypted, ${counted(shreddedKeys, 'key')} shredded`;
  print('done', 'records', `${grouped(live)} live of ${grouped(ever)}${secret}`);
  if (graph.nodes + graph.edges > 0)
    print('done', 'graph', `${counted(graph.nodes, 'node')}, ${counted(graph.edges, 'edge')}`);
  const hashes = {
    'chain head': state.chainHead,
    'log root': state.logRoot,
    'state root': state.stateRoot,
    'state hash': state.stateHash,
  };
  for (const [of, hash] of Object.entries(hashes)) print('plain', of, toHex(hash));
}
