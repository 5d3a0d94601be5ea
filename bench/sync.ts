/**
 * The cost of `sync_interval: always`: two clusters get writes in turns. The NATS server of one syncs every write, that of the
 * other one syncs every two minutes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { findNatsServer } from '../scripts/local/natsServer/find.js';
import { serverConfig } from '../scripts/local/natsServer/serverConfig.js';
import { freePorts } from '../scripts/local/port.js';
import { guarded } from '../scripts/local/supervisor/guarded.js';
import { replaceFile } from '../shared/files/durable.js';
import { withCluster } from './cluster.js';
import { inFolder } from './folder.js';
import type { Client } from './httpClient.js';
import { percentile, runLoad } from './httpLoad.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { median, type Row } from './row.js';

const HOST = '127.0.0.1';
const STORE_BYTES = 2 ** 33;
const COLLECTIONS = 16;
const LOADS = [
  { inFlight: 1, collections: 1 },
  { inFlight: 16, collections: 1 },
  { inFlight: 16, collections: COLLECTIONS },
] as const;
type Load = (typeof LOADS)[number];
const SYNC_SETTING = / *sync_interval: always\n/;

interface Turn {
  readonly perSecond: number;
  readonly p50Ms: number;
}

export const benchSync = (sizes: Sizes): Promise<Row[]> =>
  withServer(true, (synced) =>
    withServer(false, (lazy) =>
      withCluster(
        (one) => withCluster((other) => benchBoth([one, other], sizes), { VOUCH_SHARDS: '1', VOUCH_NATS_URL: lazy }),
        { VOUCH_SHARDS: '1', VOUCH_NATS_URL: synced },
      ),
    ),
  );

async function benchBoth(clients: readonly [Client, Client], { syncRounds, syncWrites }: Sizes): Promise<Row[]> {
  for (const client of clients) for (let n = 0; n < COLLECTIONS; n++) await client.createCollection(`sync${n}`, 8);
  const rows: Row[] = [];
  await measured('sync', LOADS.length * (syncRounds + 1), async (progress) => {
    for (const load of LOADS) {
      const turns: [Turn, Turn][] = [];
      for (let round = 0; round <= syncRounds; round++) {
        const [first, second] = round % 2 === 0 ? [0, 1] : [1, 0];
        const pair: Turn[] = [];
        for (const at of [first, second] as const) pair[at] = await write(clients[at], load, syncWrites);
        // The first round warms up.
        if (round > 0) turns.push(pair as [Turn, Turn]);
        progress.advance(1);
      }
      rows.push(...rowsOf(load, turns));
    }
    return rows;
  });
  return rows;
}

async function write(client: Client, { inFlight, collections }: Load, requests: number): Promise<Turn> {
  const request = (i: number): Buffer =>
    client.request('/v1/records', { collection: `sync${i % collections}`, values: [1, 2, 3, 4, 5, 6, 7, i] });
  const { seconds, latenciesMs } = await runLoad({ ...client.address, inFlight, requests, request });
  return { perSecond: requests / seconds, p50Ms: percentile(latenciesMs, 0.5) };
}

function rowsOf({ inFlight, collections }: Load, turns: readonly [Turn, Turn][]): Row[] {
  const about = `${inFlight} in flight, ${collections} collection${collections === 1 ? '' : 's'}`;
  const row = (name: string, value: number, unit: string): Row => ({
    part: 'sync',
    name: `${name}, ${about}`,
    value,
    unit,
  });
  const names = ['every write synced', 'synced later'] as const;
  return [
    ...names.flatMap((name, at) => [
      row(`inserts, ${name}`, median(turns.map((pair) => pair[at]!.perSecond)), '/s'),
      row(`insert p50, ${name}`, median(turns.map((pair) => pair[at]!.p50Ms)), 'ms'),
    ]),
    row('ratio of inserts', median(turns.map(([synced, lazy]) => synced.perSecond / lazy.perSecond)), ''),
  ];
}

/** Runs a NATS server during `work`, which gets its address. */
const withServer = (isSynced: boolean, work: (url: string) => Promise<Row[]>): Promise<Row[]> =>
  inFolder(async (folder) => {
    const [port] = await freePorts(HOST, 1);
    const [file, pidFile, storeDir] = [join(folder, 'nats.conf'), join(folder, 'nats.pid'), join(folder, 'store')];
    const settings = {
      name: 'sync',
      host: HOST,
      port: port!,
      storeDir,
      storeBytes: STORE_BYTES,
      pidFile,
      logFile: undefined,
    };
    const text = serverConfig(settings);
    await replaceFile(file, isSynced ? text : text.replace(SYNC_SETTING, ''));
    const child: ChildProcess = guarded(spawn((await findNatsServer()).path, ['-c', file], { stdio: 'ignore' }));
    try {
      return await work(`nats://${HOST}:${port}`);
    } finally {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
  });
