/** Verification of a whole log, from its genesis and from any source. */
import type { LogEvent, LogGenesis } from './events.js';
import { FrameRefused, type LogState, Replay, type Watches } from './replay.js';
import { type FrameSource, GivenFrames, type Place, SourceRefused } from './source.js';

/** The first part of a log that does not verify. */
export interface Refusal {
  /** The first and the last event that may be affected. */
  readonly firstSequence: bigint;
  readonly lastSequence: bigint;
  /** The time stated by the first event; undefined if it cannot be read. */
  readonly timeMs: bigint | undefined;
  readonly place: Place;
  readonly what: string;
  /** Its frame, and the frame's start; undefined if it is outside of all frames. */
  readonly frame: { readonly bytes: Uint8Array; readonly place: Place } | undefined;
}

/** The result of a replay: of the whole log, or of the part before the refusal. */
export interface LogReport {
  readonly refusal: Refusal | undefined;
  readonly genesis: LogGenesis | undefined;
  readonly frames: number;
  readonly logBytes: bigint;
  /** The number of events, including the genesis. */
  readonly size: bigint;
  readonly state: LogState;
  readonly records: {
    readonly live: number;
    readonly ever: number;
    /** Number of records that are or were under a key. */
    readonly encrypted: number;
    readonly shreddedKeys: number;
    /** The ids of the vault keys that open what is encrypted, in hex. */
    readonly openKeys: readonly string[];
  };
  readonly graph: { readonly nodes: number; readonly edges: number };
}

export interface LogOptions {
  /** Functions by the sequence of an event, called after it is applied. */
  readonly watches?: Watches;
  /** Called after each event is applied. */
  readonly onEvent?: ((event: LogEvent) => void) | undefined;
  /** Called after each frame with its size. */
  readonly onProgress?: (bytes: number) => void;
}

/**
 * Replays a log from its genesis and checks every checksum, hash, count and rule on the way; a refusal is in the report. Throws only
 * errors of reading the source.
 */
export async function verifyLog(source: FrameSource, options: LogOptions = {}): Promise<LogReport> {
  const replay = new Replay((place) => source.readAgain(place), options.watches ?? new Map(), options.onEvent);
  const refusal = await replayAll(source, replay, options.onProgress);
  const { records, graph } = replay;
  return {
    refusal,
    genesis: replay.genesis,
    frames: replay.frames,
    logBytes: replay.logBytes,
    size: replay.size,
    state: replay.state(),
    records: {
      live: records.live,
      ever: records.leaves.size,
      encrypted: records.encrypted,
      shreddedKeys: records.shreddedKeys,
      openKeys: records.openKeys,
    },
    graph: { nodes: graph.nodes, edges: graph.edges },
  };
}

/** Replays frames in memory, like `verifyLog`. */
export const verifyFrames = (frames: readonly Uint8Array[], options?: LogOptions): Promise<LogReport> =>
  verifyLog(new GivenFrames(frames), options);

async function replayAll(
  source: FrameSource,
  replay: Replay,
  onProgress: (bytes: number) => void = () => {},
): Promise<Refusal | undefined> {
  try {
    for await (const { position, bytes } of source.frames()) {
      try {
        await replay.frame(bytes, position);
      } catch (error) {
        if (!(error instanceof FrameRefused)) throw error;
        const { offset, ...flaw } = error.flaw;
        const frame = { bytes: new Uint8Array(bytes), place: source.placeOf(position, 0) };
        return { ...flaw, place: source.placeOf(position, offset), frame };
      }
      onProgress(bytes.length);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof SourceRefused)) throw error;
    const next = { firstSequence: replay.size, lastSequence: replay.size, timeMs: undefined, frame: undefined };
    return { ...next, place: error.place, what: error.message };
  }
}
