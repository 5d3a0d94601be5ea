/** Reads each collection's log at the end of a run: straight from JetStream, verified by the project's verifier. */

import { FIXED_ONE, UNIT_ONE } from '../../shared/limits.js';
import { SYSTEM_KEY_ID } from '../../shared/model/actor.js';
import { loginOptions, type NatsLogin } from '../../shared/nats/natsLogin.js';
import { readActor } from '../../verifier/actor.js';
import { toHex } from '../../verifier/bytes.js';
import { type LogEvent, readEvent } from '../../verifier/events.js';
import { framedEvents } from '../../verifier/frame.js';
import { GraphReplay } from '../../verifier/graph.js';
import { ABSENT, chainHead, eventHash } from '../../verifier/hashing.js';
import { type Refusal, verifyLog } from '../../verifier/log.js';
import { JetStreamCluster } from '../../verifier/node/index.js';
import type { EventPlace } from '../../verifier/recordTable.js';
import type { Watches } from '../../verifier/replay.js';
import type { FrameSource, Place, PlacedFrame } from '../../verifier/source.js';
import { ExpiryCheck } from './checker/expiries.js';
import type { CollectionLog, Entry } from './checker/log.js';
import type { Call } from './history.js';
import { loggedEvent } from './loggedEvent.js';

/** Largest number of sequences per collection whose state root the replay computes; each costs a millisecond or two. */
const WATCHED_MAX = 200;

export interface LogOf {
  readonly name: string;
  readonly id: number;
}

/** `natsUrl`: of one server. `sequencesOf`: the sequences of a collection whose state roots are of use. */
export async function readLogs(
  natsUrl: string,
  login: NatsLogin,
  collections: readonly LogOf[],
  sequencesOf: (name: string) => readonly number[],
): Promise<CollectionLog[]> {
  const cluster = await JetStreamCluster.connect(natsUrl, await loginOptions(login));
  try {
    const logs: CollectionLog[] = [];
    for (const { name, id } of collections)
      logs.push(await readLog(name, await cluster.openLog(BigInt(id)), sequencesOf(name)));
    return logs;
  } finally {
    await cluster.close();
  }
}

export async function readLog(
  collection: string,
  source: FrameSource,
  sequences: readonly number[],
): Promise<CollectionLog> {
  const reading = new ReadWhileVerified(source);
  const stateRoots = new Map<number, string>();
  const watches = watchesOf(sequences, (sequence, root) => stateRoots.set(sequence, root));
  const { refusal, logBytes } = await verifyLog(reading, { watches });
  const { configHash, genesis, entries, isNormalised } = reading;
  const why = refusal ? describeRefusal(refusal) : reading.expiries.fault;
  return {
    collection,
    refusal: why,
    isNormalised,
    configHash,
    genesis,
    entries,
    stateRoots,
    sizeBytes: Number(logBytes),
  };
}

const describeRefusal = ({ firstSequence, place, what }: Refusal): string =>
  `event ${firstSequence}, byte ${place.byte} of message ${place.message ?? '?'} of ${place.name}: ${what}`;

/**
 * Log sequences at which an answer contains a state root, and `others`; if there are many, an even selection.
 */
export function rootSequences(calls: readonly Call[], collection: string, others: readonly number[] = []): number[] {
  const sequences = new Set(others);
  for (const call of calls) {
    if (call.collection !== collection || call.outcome.kind !== 'ok') continue;
    if (call.op === 'state') sequences.add(call.outcome.answer.sequence);
    else if (call.op === 'insert') sequences.add(call.outcome.answer.receipt.sequence);
    else if (call.op === 'search' && call.asOf !== null) sequences.add(call.asOf);
  }
  const all = [...sequences].sort((a, b) => a - b);
  const step = Math.max(1, all.length / WATCHED_MAX);
  return Array.from({ length: Math.min(all.length, WATCHED_MAX) }, (_, i) => all[Math.floor(i * step)]!);
}

const watchesOf = (sequences: readonly number[], seen: (sequence: number, stateRoot: string) => void): Watches =>
  new Map(
    sequences.map((sequence) => [
      BigInt(sequence),
      [
        ({ stateRootBefore, after }) => {
          seen(sequence, toHex(after.stateRoot));
          if (sequence > 0) seen(sequence - 1, toHex(stateRootBefore));
        },
      ],
    ]),
  );

/** Passes frames on to the verifier, and keeps what the checker needs from them. */
class ReadWhileVerified implements FrameSource {
  readonly entries: Entry[] = [];
  configHash: Uint8Array = ABSENT;
  genesis: CollectionLog['genesis'] = { chainHead: ABSENT, timeMs: 0n };
  readonly expiries = new ExpiryCheck();
  isNormalised = false;
  readonly #graph = new GraphReplay();
  #head: Uint8Array = ABSENT;
  #graphRoot: Uint8Array = ABSENT;

  constructor(private readonly source: FrameSource) {}

  get sizeBytes(): number {
    return this.source.sizeBytes;
  }

  /** A frame is read when the next one is requested: by then the verifier has accepted it. */
  async *frames(): AsyncGenerator<PlacedFrame, void, undefined> {
    for await (const frame of this.source.frames()) {
      // The verifier may have overwritten it by then.
      const copy = Buffer.from(frame.bytes);
      yield frame;
      for (const { bytes, actor } of framedEvents(copy)) this.#read(bytes, actor);
    }
  }

  readAgain(place: EventPlace): Promise<Uint8Array> {
    return this.source.readAgain(place);
  }

  placeOf(position: number, offset: number): Place {
    return this.source.placeOf(position, offset);
  }

  close(): Promise<void> {
    return this.source.close();
  }

  #read(bytes: Uint8Array, actor: Uint8Array | null): void {
    const event = readEvent(bytes, 'an event');
    const hash = eventHash(bytes);
    this.#head = chainHead(this.#head, hash, actor);
    const bound = { chainHead: this.#head, timeMs: event.timeMs };
    if (event.type === 'genesis') {
      this.configHash = hash;
      this.genesis = bound;
      this.isNormalised = event.normalise;
      return;
    }
    this.#follow(event);
    const isExpiry = event.type === 'delete' && actor !== null && readActor(actor).keyId === SYSTEM_KEY_ID;
    this.expiries.next(event, isExpiry);
    const logged = loggedEvent(event, this.isNormalised ? UNIT_ONE : FIXED_ONE, isExpiry);
    this.entries.push({ ...bound, graphRoot: this.#graphRoot, event: logged });
  }

  /** Costs a hash of the graph for each event that may have changed it. */
  #follow(event: LogEvent): void {
    switch (event.type) {
      case 'delete':
        this.#graph.recordDeleted(event.recordId);
        break;
      case 'add node':
      case 'delete node':
      case 'add edge':
      case 'delete edge':
        this.#graph.apply(event);
        break;
      default:
        return;
    }
    this.#graphRoot = this.#graph.root();
  }
}
