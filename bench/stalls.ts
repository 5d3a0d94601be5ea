/**
 * Measures what one project's worst requests cost another. A project searches at a constant rate, alone and while another
 * project repeats one of the worst inputs. Both use the same shard.
 */
import { Client } from './httpClient.js';
import { percentile } from './httpLoad.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { makeForkedLoad } from './overload/forkedLoad.js';
import type { LoadCounts } from './overload/load.js';
import type { Row } from './row.js';
import { startAttacked } from './stalls/attackedServices.js';
import { Attacker } from './stalls/attacker.js';
import { WORST_INPUTS } from './stalls/table.js';
import type { Mode } from './startedService.js';

const COLLECTION = 'innocent';
const DIMENSION = 16;
const RECORDS = 1_000;
const RATE = 100;
const CONNECTIONS = 50;
const PERCENTILE = 0.99;
const MEDIAN = 0.5;
const MODES: readonly Mode[] = ['standalone', 'cluster'];

interface Attacked {
  readonly name: string;
  readonly endpoint: string;
  /** In the row of the endpoint. */
  readonly place: number;
}

export async function benchStalls(sizes: Sizes): Promise<Row[]> {
  const attacks = attacksOf(sizes);
  return measured('stalls', MODES.length * attacks.length, async (progress) => {
    const rows: Row[] = [];
    for (const mode of MODES) rows.push(...(await benchMode(mode, attacks, sizes, () => progress.advance(1))));
    return rows;
  });
}

/** The inputs of the table whose names have the wanted text. */
const attacksOf = ({ stallInputs, stallNames }: Sizes): Attacked[] =>
  Object.entries(WORST_INPUTS)
    .flatMap(([endpoint, row]) =>
      'small' in row ? [] : row.map(({ input }, place) => ({ name: `${endpoint}: ${input}`, endpoint, place })),
    )
    .filter(({ name }) => name.includes(stallNames))
    .slice(0, stallInputs);

async function benchMode(
  mode: Mode,
  attacks: readonly Attacked[],
  sizes: Sizes,
  onMeasured: () => void,
): Promise<Row[]> {
  const service = await startAttacked(mode);
  let attacker: Attacker | undefined;
  try {
    const innocent = new Client(service.url, await service.newKey('innocent'));
    attacker = await Attacker.start(service.url, await service.newKey('attacker'));
    const requests = await prepareSearches(innocent);
    const p99 = async (): Promise<number> => p99Of(await searchesOf(innocent, requests, sizes.stallSeconds));
    await p99();
    const rows: Row[] = [];
    for (const { name, endpoint, place } of attacks) {
      await attacker.prepare(endpoint, place);
      const ratios = new Float64Array(sizes.stallRounds);
      for (let round = 0; round < ratios.length; round++) ratios[round] = await ratioOf(p99, attacker);
      await attacker.clean();
      const row = { part: 'stalls', name: `${mode}: ${name}: p99 beside it / alone` } as const;
      rows.push({ ...row, value: percentile(ratios.sort(), MEDIAN), unit: 'times' });
      onMeasured();
    }
    const worst = Math.max(...rows.map(({ value }) => value));
    return [...rows, { part: 'stalls', name: `${mode}: the worst of these`, value: worst, unit: 'times' }];
  } finally {
    attacker?.stop();
    await service.stop();
  }
}

/** Returns the result of `measure` during repeated attacks, divided by its result alone. */
async function ratioOf(measure: () => Promise<number>, attacker: Attacker): Promise<number> {
  const alone = await measure();
  return (await attacker.during(measure)) / alone;
}

async function prepareSearches(client: Client): Promise<Buffer[]> {
  await client.createCollection(COLLECTION, DIMENSION);
  const vectors = Array.from({ length: RECORDS }, (_, i) =>
    Array.from({ length: DIMENSION }, (_, j) => Math.sin(i * DIMENSION + j)),
  );
  await client.insertBatch(COLLECTION, vectors);
  return vectors.slice(0, RATE).map((query) => client.request('/v1/search', { collection: COLLECTION, query, k: 10 }));
}

/** Milliseconds from when each search was due, 99th percentile. Throws an Error if one was not answered. */
function p99Of({ kinds, failures }: LoadCounts): number {
  const search = kinds.search!;
  if (search.failed + search.refused > 0) throw new Error(`searches of another project failed: ${failures[0]}`);
  return percentile(Float64Array.from(search.answeredMs), PERCENTILE);
}

/** Searches at a constant rate, from a process of their own. */
const searchesOf = (client: Client, requests: readonly Buffer[], seconds: number): Promise<LoadCounts> =>
  makeForkedLoad({
    ...client.address,
    ...{ warmUpSeconds: seconds / 10, seconds, rate: RATE, connections: CONNECTIONS },
    ...{ requests, kinds: requests.map(() => 'search') },
  });
