/** A log as the verifier replays it, flat and in hex, to hold against what the engine says. */
import { type LogEvent, readEvent } from '../../scripts/verifier/events.js';
import { framedEvents } from '../../scripts/verifier/frame.js';
import { ABSENT, chainHead, eventHash } from '../../scripts/verifier/hashing.js';
import { verifyFrames } from '../../scripts/verifier/log.js';

export interface ReplayedLog {
  /** Why the log does not hold; nothing where it does. All else describes it up to there. */
  readonly problems: readonly string[];
  /** Committed events, the genesis not counted. */
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
  const hex = (hash: Buffer): string => hash.toString('hex');
  return {
    problems: [...(refusal === undefined ? [] : [refusal.what]), ...(size === 0n ? ['the log is empty'] : [])].slice(
      0,
      1,
    ),
    sequence: state.sequence,
    timeMs: state.timeMs,
    liveRecords: records.live,
    chainHead: hex(state.chainHead),
    logRoot: hex(state.logRoot),
    configHash: hex(state.configHash),
    stateRoot: hex(state.stateRoot),
    graphRoot: hex(state.graphRoot),
    stateHash: hex(state.stateHash),
  };
}

/** One event, as receipts refer to it. */
export interface ChainLink {
  readonly event: LogEvent;
  readonly eventHash: Buffer;
  readonly headBefore: Buffer;
  readonly headAfter: Buffer;
}

/** By sequence, the genesis first. The frames must verify. */
export function linksOf(frames: readonly Uint8Array[]): ChainLink[] {
  const links: ChainLink[] = [];
  for (const frame of frames)
    for (const { bytes } of framedEvents(Buffer.from(frame))) {
      const headBefore = links.at(-1)?.headAfter ?? ABSENT;
      const hash = eventHash(bytes);
      const event = readEvent(bytes, `event ${links.length}`);
      links.push({ event, eventHash: hash, headBefore, headAfter: chainHead(headBefore, hash) });
    }
  return links;
}
