/** The processes of the service: their state, their collections and their load. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ClusterResponse, PlacedCollection, ShardStatus } from '../../coordinator/contract/cluster.js';
import { useLoaded } from '../loading.js';
import { Shown } from '../parts/basics.js';
import { CHART_SECS, Chart, type Series } from '../parts/chart.js';
import { Table } from '../parts/table.js';
import { grouped, sizeText } from '../parts/values.js';
import type { Service } from '../service.js';

const EVERY_MS = 2_000;

export function Cluster({ service }: { readonly service: Service }) {
  const cluster = useLoaded(
    (signal) => service.call<ClusterResponse>('GET', '/v1/cluster', undefined, signal),
    [service],
    service.poll(EVERY_MS),
  );
  return (
    <Shown of={cluster}>
      {(now) => (
        <>
          <Rates now={now} />
          <h2>Shards</h2>
          <Shards of={now.shards} />
          <h2>Collections of this project</h2>
          <Placed of={now.collections} />
          <h2>Coordinators</h2>
          <Table
            label="Coordinators"
            titles={['Name', 'Address', 'Version', 'Running for', 'Duties']}
            rows={now.coordinators.map(({ name, url, version, uptime_secs: secs }) => ({
              key: name,
              cells: [
                name,
                url,
                version,
                durationText(secs),
                now.leases
                  .filter(({ holder }) => holder.startsWith(name))
                  .map((lease) => lease.name)
                  .join(', '),
              ],
            }))}
          />
          {now.nats.length > 0 && (
            <>
              <h2>NATS servers</h2>
              <Table
                label="NATS servers"
                titles={['Name', 'Address', 'Version', 'Connection']}
                rows={now.nats.map(({ name, url, version, connected }) => ({
                  key: url,
                  cells: [
                    name ?? <span class="badge bad">does not answer</span>,
                    url,
                    version,
                    connected && 'this coordinator is connected',
                  ],
                }))}
              />
            </>
          )}
        </>
      )}
    </Shown>
  );
}

const Shards = ({ of: shards }: { readonly of: readonly ShardStatus[] }) => (
  <Table
    label="Shards"
    titles={['Name', 'State', 'Collections', 'Records', 'Memory', 'Calls in progress', 'Running for', 'Machine']}
    plain={['State']}
    rows={shards.map((shard) => ({
      key: shard.name,
      cells: [
        shard.name,
        <>
          <span class={`badge ${shard.state === 'serving' ? 'good' : 'bad'}`}>{shard.state}</span>
          {shard.full?.map((what) => (
            <span key={what} class="badge bad">
              {what} full
            </span>
          ))}
        </>,
        grouped(shard.collections),
        grouped(shard.records),
        shard.memory_bytes === undefined
          ? undefined
          : `${sizeText(shard.memory_bytes)} of ${sizeText(shard.memory_limit_bytes ?? 0)}`,
        shard.calls,
        shard.uptime_secs === undefined ? undefined : durationText(shard.uptime_secs),
        <>
          {shard.host} {shard.version !== undefined && <span class="quiet">version {shard.version}</span>}
        </>,
      ],
    }))}
  />
);

const Placed = ({ of: collections }: { readonly of: readonly PlacedCollection[] }) => (
  <Table
    label="Placed collections"
    titles={['Name', 'Served by', 'Copies on', 'Placements so far', 'Events', 'Records', 'Damage']}
    rows={collections.map(({ name, id, owner, followers, epoch, sequence, records, moving, damaged }) => ({
      key: id,
      cells: [
        name,
        <>
          {owner ?? 'no shard'}
          {moving !== undefined && <span class="badge">moving to {moving}</span>}
        </>,
        followers.length === 0 ? 'no other shard' : followers.join(', '),
        epoch,
        grouped(sequence),
        grouped(records),
        damaged === undefined ? (
          'none'
        ) : (
          <span class="badge bad">{damaged.map(({ part, reason }) => `${part}: ${reason}`).join('; ')}</span>
        ),
      ],
    }))}
  />
);

/** The rates between successive answers, over the last `CHART_SECS`. */
function Rates({ now }: { readonly now: ClusterResponse }) {
  const [points, setPoints] = useState<readonly (readonly number[])[]>([]);
  const last = useRef<{ readonly atMs: number; readonly events: number }>(undefined);
  useEffect(() => {
    const atMs = Date.now();
    const events = now.collections.reduce((sum, { sequence }) => sum + sequence, 0);
    const before = last.current;
    last.current = { atMs, events };
    if (before === undefined || atMs <= before.atMs) return;
    const perSecond = Math.max(0, ((events - before.events) * 1_000) / (atMs - before.atMs));
    const calls = now.shards.reduce((sum, shard) => sum + (shard.calls ?? 0), 0);
    setPoints((earlier) => [
      ...earlier.filter(([secs]) => secs! >= atMs / 1_000 - CHART_SECS),
      [atMs / 1_000, perSecond, calls],
    ]);
  }, [now]);
  const series: Series[] = [
    { label: 'Events of this project per second', values: points.map((point) => point[1]!) },
    { label: 'Calls in progress', values: points.map((point) => point[2]!) },
  ];
  return (
    <div class="sides">
      {series.map((one) => (
        <Chart key={one.label} times={points.map((point) => point[0]!)} series={one} />
      ))}
    </div>
  );
}

function durationText(secs: number): string {
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
  ] as const;
  const unit = units.find(([size]) => secs >= size);
  return unit === undefined ? `${secs} s` : `${Math.floor(secs / unit[0])} ${unit[1]}`;
}
