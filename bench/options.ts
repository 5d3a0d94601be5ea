/** The options of a run of the benchmark: the measured parts and their sizes. */
import { parseFlags, UsageError } from '../scripts/terminal/commandLine.js';
import { unknownWord } from '../scripts/terminal/unknownWord.js';
import { PARTS, type Row } from './row.js';

export type Part = Row['part'];

/** Sizes of the measurements, in full and with `--quick`, which shows that everything runs but not how fast it is. */
const SIZES = {
  kernelRows: [100_000, 2_000],
  kernelRounds: [41, 3],
  kernelWarmUpMs: [500, 1],
  dimensions: [
    [100, 128, 768],
    [100, 768],
  ],
  /** Records of each collection that the engine fills. */
  engineRecords: [100_000, 1_000],
  engineSearches: [500, 20],
  /** Largest number of records in the indexed collection. */
  indexRecords: [100_000, 300],
  indexSearches: [1_000, 10],
  /** Records of the index that has several segments. */
  segmentRecords: [300_000, 2_000],
  /** Searches with each filter. */
  segmentSearches: [200, 10],
  /** Time under writes and searches: without a build, and after each built index. */
  indexDelaySeconds: [1, 0.1],
  /** Records of the collection that is searched with options. */
  searchRecords: [100_000, 500],
  /** Rounds, each with an option and without it. */
  searchRounds: [400, 10],
  /** Texts of the collection that is searched by long queries; a tenth as many nodes are deleted with one record. */
  longQueryTexts: [1_000_000, 500],
  /** Events of the log that proofs are made of. */
  proofEvents: [1_000_000, 500],
  /** Collections with a checkpoint in the service log. */
  loggedCollections: [100_000, 600],
  /** Rounds of inserts, each with a NATS server that syncs every write and with one that syncs later. */
  syncRounds: [7, 1],
  syncWrites: [4_000, 40],
  /** Rounds of ingest, each with chain and trees and without them. */
  auditRounds: [3, 1],
  /** Records of the collection that is opened again; `--restart-records` sets it. */
  restartRecords: [100_000, 1_000],
  /** Rounds of inserts, each without keys and under keys, and single inserts of a turn. */
  erasureRounds: [7, 1],
  erasureRequests: [2_000, 16],
  /** Records of 128 dimensions; of higher dimensions there are fewer, so that all collections have equal bytes. */
  ingestRecords: [100_000, 500],
  httpRequests: [4_000, 20],
  /** Records of the collection whose memory is measured. */
  memoryRecords: [100_000, 300],
  memorySearches: [20_000, 20],
  /** Rest after the last work, in which threads end and memory is released. */
  memoryRestSeconds: [25, 0.1],
  /** Records of the large collection; `--large-records` and `--large-dimension` set them. */
  largeRecords: [1_000_000, 2_000],
  largeDimension: [128, 16],
  largeSearches: [4_000, 20],
  /** Records of the collection whose searches overload the service. */
  overloadRecords: [200_000, 300],
  /** Durations of each load: before counting, and while counting. */
  overloadWarmUpSeconds: [4, 0.02],
  overloadSeconds: [5, 0.15],
  overloadConnections: [2_000, 20],
  /** Loads, as multiples of the best throughput. */
  overloadLoads: [[0.5, 1, 1.5, 2, 3], [3]],
  emptyCollections: [2_000, 5],
  /** Collections of one cluster, fewest first. */
  scaleCollections: [[1_250, 2_500, 5_000], [5]],
  /** Time for which idle processes are watched. */
  idleSeconds: [10, 0.2],
  /** Records of each of the collections that are searched in turn. */
  spreadRecords: [20_000, 100],
  spreadSearches: [4_000, 100],
  /** Searches of a collection with followers. */
  strongSearches: [4_000, 100],
  /** Records of the collections that move while they are in use, one after the other. */
  moveRecords: [[10_000, 100_000], [100]],
  /** Time under load before the move; half as long after it. */
  moveSeconds: [2, 0.2],
  /** Pause of each client of that load between an answer and its next request. */
  movePauseMs: [0, 10],
  /** Time for which another project searches, alone and beside each of the worst inputs. */
  stallSeconds: [2, 0.5],
  /** Comparisons of each input; their median is reported. */
  stallRounds: [3, 1],
  /** Largest number of inputs from the table of worst inputs. */
  stallInputs: [Number.POSITIVE_INFINITY, 4],
  /** Text in the names of these inputs; `--inputs` sets it. */
  stallNames: ['', ''],
  peerRecords: [100_000, 300],
  /** Searches of a turn. */
  peerSearches: [2_000, 20],
  peerRounds: [5, 1],
};

/** Options that set a size. */
const COUNTS = {
  'restart-records': 'restartRecords',
  'large-records': 'largeRecords',
  'large-dimension': 'largeDimension',
} as const;

export type Sizes = { readonly [Name in keyof typeof SIZES]: (typeof SIZES)[Name][number] };

const sizesOf = (isQuick: boolean): Sizes =>
  Object.fromEntries(Object.entries(SIZES).map(([name, sizes]) => [name, sizes[isQuick ? 1 : 0]])) as Sizes;

export interface BenchOptions {
  readonly parts: readonly Part[];
  readonly sizes: Sizes;
  /** A folder with real vectors. */
  readonly dataFolder: string | undefined;
  /** URL of a PostgreSQL database. */
  readonly postgres: string | undefined;
  /** File for the figures as JSON. */
  readonly jsonFile: string | undefined;
}

export const USAGE = `npm run bench -- [<part> …] [--only ${PARTS.join(',')}] [--quick] [--data <folder>]
                 [--restart-records <n>] [--large-records <n>] [--large-dimension <n>] [--inputs <text>] [--postgres <url>] [--json <file>]

  --only   measure these parts alone
  --quick  small sizes: shows that everything runs, not how fast
  --data   a folder with glove100k.f32, glove.queries.f32 and glove.gt100.i32 (or VOUCH_BENCH_DATA)
  --restart-records  of 128 dimensions, of the collection that is opened again (100000; 1000000 takes some 6 GB of memory)
  --large-records, --large-dimension  of the large collection (1000000 and 128, which take some 3 GB of memory)
  --inputs  of stalls: only those of the worst inputs whose endpoint or description has this text
  --postgres  of peers: a database with pgvector, which gets a table for the time of the run (or VOUCH_BENCH_POSTGRES)
  --json   write the figures to this file too`;

/** Throws UsageError. */
export function parseOptions(args: readonly string[], env: NodeJS.ProcessEnv): BenchOptions {
  const { values, positionals } = readArguments(args);
  const { only, quick, data, json, inputs } = values;
  const named = [...positionals, ...(only?.split(',') ?? [])];
  return {
    parts: named.length === 0 ? PARTS : named.map(partOf),
    sizes: {
      ...sizesOf(quick),
      ...countsIn(values),
      ...(inputs === undefined ? {} : { stallNames: inputs }),
    },
    dataFolder: data ?? (env.VOUCH_BENCH_DATA || undefined),
    postgres: values.postgres ?? (env.VOUCH_BENCH_POSTGRES || undefined),
    jsonFile: json,
  };
}

function readArguments(args: readonly string[]) {
  return parseFlags({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      data: { type: 'string' },
      json: { type: 'string' },
      inputs: { type: 'string' },
      postgres: { type: 'string' },
      'restart-records': { type: 'string' },
      'large-records': { type: 'string' },
      'large-dimension': { type: 'string' },
    },
  });
}

/** The sizes that options set. */
function countsIn(values: Readonly<Record<string, unknown>>): Partial<Sizes> {
  const given = Object.entries(COUNTS).filter(([option]) => values[option] !== undefined);
  return Object.fromEntries(given.map(([option, size]) => [size, countOf(String(values[option]))]));
}

function countOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`${JSON.stringify(text)} is not a count`);
  return Number(text);
}

function partOf(name: string): Part {
  const part = PARTS.find((one) => one === name.trim());
  if (part === undefined) throw new UsageError(unknownWord('part', name, PARTS));
  return part;
}
