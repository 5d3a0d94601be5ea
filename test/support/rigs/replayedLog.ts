/** A log as the verifier replays it, flat and in hex, to compare with the engine's answers. */
import { toHex } from '../../../verifier/bytes.js';
import { type LogEvent, readEvent } from '../../../verifier/events.js';
import { framedEvents } from '../../../verifier/frame.js';
import { ABSENT, chainHead, eventHash } from '../../../verifier/hashing.js';
import { verifyFrames } from '../../../verifier/log.js';
import '../../../verifier/node/index.js';

export interface ReplayedLog {
  /** Reasons why the log fails; empty if it verifies. The other fields describe it up to the failure. */
  readonly problems: readonly string[];
  /** Committed events without the genesis. */
  readonly sequence: bigint;
  readonly timeMs: bigint;
  readonly liveRecords: number;
  readonly chainHead: string;
  readonly logRoot: string;
  readonly configHash: string;
  readonly stateRoot: string;
  readonly graphRoot: string;
  readonly stateHash: string;
}

export async function replayedLog(frames: readonly Uint8Array[]): Promise<ReplayedLog> {
  const { refusal, state, records, size } = await verifyFrames(frames);
  return {
    problems: [...(refusal === undefined ? [] : [refusal.what]), ...(size === 0n ? ['the log is empty'] : [])].slice(
      0,
      1,
    ),
    sequence: state.sequence,
    timeMs: state.timeMs,
    liveRecords: records.live,
    chainHead: toHex(state.chainHead),
    logRoot: toHex(state.logRoot),
    configHash: toHex(state.configHash),
    stateRoot: toHex(state.stateRoot),
    graphRoot: toHex(state.graphRoot),
    stateHash: toHex(state.stateHash),
  };
}

/** One event, in the form that receipts use. */
export interface ChainLink {
  readonly event: LogEvent;
  readonly eventHash: Uint8Array;
  readonly headBefore: Uint8Array;
  readonly headAfter: Uint8Array;
}

/** Links by sequence, the genesis first. The frames must verify. */
export function linksOf(frames: readonly Uint8Array[]): ChainLink[] {
  const links: ChainLink[] = [];
  for (const frame of frames)
    for (const { bytes, actor } of framedEvents(frame)) {
      const headBefore = links.at(-1)?.headAfter ?? ABSENT;
      const hash = eventHash(bytes);
      const event = readEvent(bytes, `event ${links.length}`);
      links.push({ event, eventHash: hash, headBefore, headAfter: chainHead(headBefore, hash, actor) });
    }
  return links;
}
