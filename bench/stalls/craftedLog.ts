/** Logs made event by event, and imported: large collections within a second, and events that no write could make. */
import { EMPTY_LOG, type LogEnd } from '../../shared/log/chain.js';
import type { AddEdge, AddNode, Event, Insert, Undated } from '../../shared/log/event.js';
import { buildFrame } from '../../shared/log/frame.js';
import { SYSTEM } from '../../shared/model/actor.js';
import { nextTurn } from '../../shared/scheduling/slice.js';
import { toHex, verifyFrames } from '../../verifier/index.js';
import '../../verifier/node/index.js';

export type NewEvent = Undated<Event>;

const CREATED_MS = 1_700_000_000_000;
const ORIGIN = { project: 'crafted', name: 'crafted', id: 1 } as const;
const GENESIS: NewEvent = {
  ...{ type: 'genesis', collectionId: ORIGIN.id, dimension: 1, metric: 'squared_l2' },
  ...{ project: ORIGIN.project, name: ORIGIN.name },
};
/** Largest number of events of a frame. */
const FRAME_EVENTS = 8_192;

export interface CraftedLog {
  /** The body of `POST /v1/import`, without a name. */
  readonly facts: object;
  readonly frames: readonly Uint8Array[];
}

/** The log of these events, which insert records and make the graph. `frameEvents`: events of each frame. */
export async function craftLog(events: readonly NewEvent[], frameEvents = FRAME_EVENTS): Promise<CraftedLog> {
  const dated = [GENESIS, ...events].map(
    (event, sequence) =>
      ({ ...event, sequence, timeMs: CREATED_MS + sequence, actor: sequence === 0 ? null : SYSTEM }) as Event,
  );
  const frames: Uint8Array[] = [];
  let end: LogEnd = EMPTY_LOG;
  let live = 0;
  for (let from = 0; from < dated.length; from += frameEvents) {
    const some = dated.slice(from, from + frameEvents);
    live += some.filter(({ type }) => type === 'insert').length;
    const frame = await buildFrame(some, end, live, nextTurn);
    frames.push(frame.bytes);
    end = frame.end;
  }
  const { refusal, state } = await verifyFrames(frames);
  if (refusal !== undefined) throw new Error(`the crafted log is refused: ${refusal.what}`);
  const facts = {
    ...{ origin: ORIGIN, dimension: 1, metric: 'squared_l2', created_at_ms: CREATED_MS },
    ...{ sequence: Number(state.sequence), chain_head: toHex(state.chainHead), state_hash: toHex(state.stateHash) },
  };
  return { facts, frames };
}

/** Frames as the body of a request: each after its length. */
export function framesBody(frames: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    frames.flatMap((frame) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(frame.length);
      return [length, frame];
    }),
  );
}

interface Content {
  readonly metadata?: Uint8Array;
  readonly text?: Uint8Array;
}

export const newRecord = (recordId: number, { metadata, text }: Content = {}): Undated<Insert> => ({
  ...{ type: 'insert', recordId, tag: 0, requestId: null, vector: new Uint8Array(4), externalId: null },
  ...{ metadata: metadata ?? null, text: text ?? null },
});

export const newNode = (nodeId: number, recordId: number | null = null): Undated<AddNode> => ({
  ...{ type: 'addNode', nodeId, recordId, kind: 1 },
});

export const newEdge = (edgeId: number, from: number, to: number): Undated<AddEdge> => ({
  ...{ type: 'addEdge', edgeId, from, to, kind: 0 },
});
