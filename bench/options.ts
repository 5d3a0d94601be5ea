/** What a run of the benchmark measures, and how much of it. */
import { parseFlags, UsageError } from '../scripts/terminal/commandLine.js';
import { unknownWord } from '../scripts/terminal/unknownWord.js';
import { PARTS, type Row } from './row.js';

export type Part = Row['part'];

/** How much work is measured: the figures of a small run say that everything runs, not how fast it is. */
export interface Sizes {
  readonly kernelRows: number;
  readonly kernelRounds: number;
  readonly kernelWarmUpMs: number;
  readonly dimensions: readonly number[];
  /** Of each collection that the engine fills. */
  readonly engineRecords: number;
  readonly engineSearches: number;
  /** Of the collection that gets indexes, at most. */
  readonly indexRecords: number;
  readonly indexSearches: number;
  /** Under writes and searches: where nothing is built, and behind each index that is. */
  readonly indexDelaySeconds: number;
  /** Of the collection that is searched with options. */
  readonly searchRecords: number;
  /** Each with an option and without. */
  readonly searchRounds: number;
  /** Texts among which a query is long under way; a tenth as many nodes go with one record. */
  readonly heldTexts: number;
  /** Of the log that proofs are made of. */
  readonly proofEvents: number;
  /** With a checkpoint each in the service log. */
  readonly loggedCollections: number;
  /** Of ingest with chain and trees, and without. */
  readonly auditRounds: number;
  /** Of the collection that is opened again; `--restart-records` sets it. */
  readonly restartRecords: number;
  /** Of the collection of 128 dimensions; those of more hold fewer, so that all take as many bytes. */
  readonly ingestRecords: number;
  readonly httpRequests: number;
  /** Of the collection whose service tells its memory. */
  readonly memoryRecords: number;
  readonly memorySearches: number;
  /** After the last work: threads and memory are given back meanwhile. */
  readonly memoryRestSeconds: number;
  /** Of the collection whose searches overload the service. */
  readonly overloadRecords: number;
  /** Of each load: before it is counted, and while it is. */
  readonly overloadWarmUpSeconds: number;
  readonly overloadSeconds: number;
  readonly overloadConnections: number;
  /** As multiples of the best throughput. */
  readonly overloadLoads: readonly number[];
  readonly emptyCollections: number;
  /** Of one cluster: fewest first. */
  readonly scaleCollections: readonly number[];
  /** For which processes that have nothing to do are watched. */
  readonly idleSeconds: number;
  /** Of each of the collections that are searched in turn. */
  readonly spreadRecords: number;
  readonly spreadSearches: number;
  /** Of the collection that followers share with its owner. */
  readonly strongSearches: number;
  /** Of a collection that moves while it is in use: one after the other. */
  readonly moveRecords: readonly number[];
  /** Under load before anything moves; half as long after it has. */
  readonly moveSeconds: number;
  /** Of each client of that load, between an answer and its next request. */
  readonly movePauseMs: number;
  /** For which another project searches, alone and beside each of the worst inputs. */
  readonly stallSeconds: number;
  /** Comparisons of each input; their median is reported. */
  readonly stallRounds: number;
  /** Inputs from the table of worst inputs, at most. */
  readonly stallInputs: number;
  /** Text in the names of these inputs; `--inputs` sets it. */
  readonly stallNames: string;
}

const FULL: Sizes = {
  kernelRows: 100_000,
  kernelRounds: 41,
  kernelWarmUpMs: 500,
  dimensions: [100, 128, 768],
  engineRecords: 100_000,
  engineSearches: 500,
  indexRecords: 100_000,
  indexSearches: 1_000,
  indexDelaySeconds: 1,
  searchRecords: 100_000,
  searchRounds: 400,
  heldTexts: 1_000_000,
  proofEvents: 1_000_000,
  loggedCollections: 100_000,
  auditRounds: 3,
  restartRecords: 100_000,
  ingestRecords: 100_000,
  httpRequests: 4_000,
  memoryRecords: 100_000,
  memorySearches: 20_000,
  memoryRestSeconds: 25,
  overloadRecords: 200_000,
  overloadWarmUpSeconds: 4,
  overloadSeconds: 5,
  overloadConnections: 2_000,
  overloadLoads: [0.5, 1, 1.5, 2, 3],
  emptyCollections: 2_000,
  scaleCollections: [1_250, 2_500, 5_000],
  idleSeconds: 10,
  spreadRecords: 20_000,
  spreadSearches: 4_000,
  strongSearches: 4_000,
  moveRecords: [10_000, 100_000],
  moveSeconds: 2,
  movePauseMs: 0,
  stallSeconds: 2,
  stallRounds: 3,
  stallInputs: Number.POSITIVE_INFINITY,
  stallNames: '',
};

const QUICK: Sizes = {
  kernelRows: 2_000,
  kernelRounds: 3,
  kernelWarmUpMs: 1,
  dimensions: [100, 768],
  engineRecords: 1_000,
  engineSearches: 20,
  indexRecords: 300,
  indexSearches: 10,
  indexDelaySeconds: 0.1,
  searchRecords: 500,
  searchRounds: 10,
  heldTexts: 500,
  proofEvents: 500,
  loggedCollections: 600,
  auditRounds: 1,
  restartRecords: 1_000,
  ingestRecords: 500,
  httpRequests: 20,
  memoryRecords: 300,
  memorySearches: 20,
  memoryRestSeconds: 0.1,
  overloadRecords: 300,
  overloadWarmUpSeconds: 0.02,
  overloadSeconds: 0.15,
  overloadConnections: 20,
  overloadLoads: [3],
  emptyCollections: 5,
  scaleCollections: [5],
  idleSeconds: 0.2,
  spreadRecords: 100,
  spreadSearches: 100,
  strongSearches: 100,
  moveRecords: [100],
  moveSeconds: 0.2,
  movePauseMs: 10,
  stallSeconds: 0.5,
  stallRounds: 1,
  stallInputs: 4,
  stallNames: '',
};

export interface BenchOptions {
  readonly parts: readonly Part[];
  readonly sizes: Sizes;
  /** A folder with real vectors. */
  readonly dataFolder: string | undefined;
  /** Where the figures are written to as JSON. */
  readonly jsonFile: string | undefined;
}

export const USAGE = `npm run bench -- [<part> …] [--only ${PARTS.join(',')}] [--quick] [--data <folder>]
                 [--restart-records <n>] [--inputs <text>] [--json <file>]

  --only   measure these parts alone
  --quick  small sizes: shows that everything runs, not how fast
  --data   a folder with glove100k.f32, glove.queries.f32 and glove.gt100.i32 (or VOUCH_BENCH_DATA)
  --restart-records  of 128 dimensions, of the collection that is opened again (100000; 1000000 takes some 6 GB of memory)
  --inputs  of stalls: only those of the worst inputs whose endpoint or description has this text
  --json   write the figures to this file too`;

/** Throws UsageError. */
export function parseOptions(args: readonly string[], env: NodeJS.ProcessEnv): BenchOptions {
  const { values, positionals } = readArguments(args);
  const { only, quick, data, json, inputs, 'restart-records': restartRecords } = values;
  const named = [...positionals, ...(only?.split(',') ?? [])];
  const sizes = quick ? QUICK : FULL;
  return {
    parts: named.length === 0 ? PARTS : named.map(partOf),
    sizes: {
      ...sizes,
      ...(restartRecords === undefined ? {} : { restartRecords: countOf(restartRecords) }),
      ...(inputs === undefined ? {} : { stallNames: inputs }),
    },
    dataFolder: data ?? (env.VOUCH_BENCH_DATA || undefined),
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
      'restart-records': { type: 'string' },
    },
  });
}

function countOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`${JSON.stringify(text)} is not a number of records`);
  return Number(text);
}

function partOf(name: string): Part {
  const part = PARTS.find((one) => one === name.trim());
  if (part === undefined) throw new UsageError(unknownWord('part', name, PARTS));
  return part;
}
