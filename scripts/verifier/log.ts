/** Checks a whole log, from its genesis, wherever it is kept. */
import type { Genesis } from './events.js';
import { FrameRefused, type LogState, Replay, type Watches } from './replay.js';
import { type FrameSource, GivenFrames, type Place, SourceRefused } from './source.js';

/** The first thing that does not verify. */
export interface Refusal {
  /** The first event that it may be about, and the last. */
  readonly firstSequence: bigint;
  readonly lastSequence: bigint;
  /** Of that event, as far as it can be told; of a damaged one, as it says itself. */
  readonly timeMs: bigint | undefined;
  readonly place: Place;
  readonly what: string;
  /** The frame it is seen in, where it is in one, and where that begins. */
  readonly frame: { readonly bytes: Buffer; readonly place: Place } | undefined;
}

/** What was replayed: all of the log, or what comes before the refusal. */
export interface LogReport {
  readonly refusal: Refusal | undefined;
  readonly genesis: Genesis | undefined;
  readonly frames: number;
  readonly logBytes: bigint;
  /** Events, the genesis counted. */
  readonly size: bigint;
  readonly state: LogState;
  readonly records: {
    readonly live: number;
    readonly ever: number;
    readonly encrypted: number;
    readonly shreddedKeys: number;
  };
  readonly graph: { readonly nodes: number; readonly edges: number };
}

export interface LogOptions {
  /** Called as these events have been applied. */
  readonly watches?: Watches;
  readonly onProgress?: (bytes: number) => void;
}

/** Throws only what keeps the source from being read at all. */
export async function verifyLog(source: FrameSource, options: LogOptions = {}): Promise<LogReport> {
  const replay = new Replay((place) => source.readAgain(place), options.watches ?? new Map());
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
    },
    graph: { nodes: graph.nodes, edges: graph.edges },
  };
}

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
        const frame = { bytes: Buffer.from(bytes), place: source.placeOf(position, 0) };
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
