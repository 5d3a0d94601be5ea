/** The processes of the service: which are there, what they hold, and how busy they are. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ClusterResponse, PlacedCollection, ShardStatus } from '../../coordinator/contract/cluster.js';
import { useLoaded } from '../loading.js';
import { grouped, Shown, sizeText, Table } from '../parts/basics.js';
import { Chart, type Series } from '../parts/chart.js';
import type { Service } from '../service.js';

const EVERY_MS = 2_000;

export function Cluster({ service }: { readonly service: Service }) {
  const cluster = useLoaded(
    (signal) => service.call<ClusterResponse>('GET', '/v1/cluster', undefined, signal),
    [service],
    EVERY_MS,
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
          <Table label="Coordinators" titles={['Name', 'Address', 'Version', 'Up', 'Leases']}>
            {now.coordinators.map(({ name, url, version, uptime_secs: secs }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{url}</td>
                <td>{version}</td>
                <td>{durationText(secs)}</td>
                <td>
                  {now.leases
                    .filter(({ holder }) => holder.startsWith(name))
                    .map((lease) => lease.name)
                    .join(', ')}
                </td>
              </tr>
            ))}
          </Table>
          {now.nats.length > 0 && (
            <>
              <h2>NATS servers</h2>
              <Table label="NATS servers" titles={['Name', 'Address', 'Version', 'Connection']}>
                {now.nats.map(({ name, url, version, connected }) => (
                  <tr key={url}>
                    <th scope="row">{name ?? <span class="badge bad">does not answer</span>}</th>
                    <td>{url}</td>
                    <td>{version}</td>
                    <td>{connected && 'connected'}</td>
                  </tr>
                ))}
              </Table>
            </>
          )}
        </>
      )}
    </Shown>
  );
}

const Shards = ({ of: shards }: { readonly of: readonly ShardStatus[] }) => (
  <Table label="Shards" titles={['Name', 'State', 'Collections', 'Records', 'Memory', 'Calls', 'Up', 'Machine']}>
    {shards.map((shard) => (
      <tr key={shard.name}>
        <th scope="row">{shard.name}</th>
        <td>
          <span class={`badge ${shard.state === 'serving' ? 'good' : 'bad'}`}>{shard.state}</span>
          {shard.full?.map((what) => (
            <span key={what} class="badge bad">
              {what} full
            </span>
          ))}
        </td>
        <td class="number">{grouped(shard.collections)}</td>
        <td class="number">{grouped(shard.records)}</td>
        <td class="number">
          {shard.memory_bytes !== undefined &&
            `${sizeText(shard.memory_bytes)} of ${sizeText(shard.memory_limit_bytes ?? 0)}`}
        </td>
        <td class="number">{shard.calls}</td>
        <td>{shard.uptime_secs !== undefined && durationText(shard.uptime_secs)}</td>
        <td>
          {shard.host} {shard.version !== undefined && <span class="quiet">{shard.version}</span>}
        </td>
      </tr>
    ))}
  </Table>
);

const Placed = ({ of: collections }: { readonly of: readonly PlacedCollection[] }) => (
  <Table
    label="Placed collections"
    titles={['Name', 'Owner', 'Followers', 'Owners so far', 'Events', 'Records', 'Damage']}
  >
    {collections.map(({ name, id, owner, followers, epoch, sequence, records, moving, damaged }) => (
      <tr key={id}>
        <th scope="row">{name}</th>
        <td>
          {owner ?? 'none'}
          {moving !== undefined && <span class="badge">moving to {moving}</span>}
        </td>
        <td>{followers.join(', ')}</td>
        <td class="number">{epoch}</td>
        <td class="number">{grouped(sequence)}</td>
        <td class="number">{grouped(records)}</td>
        <td>
          {damaged !== undefined && (
            <span class="badge bad">{damaged.map(({ part, reason }) => `${part}: ${reason}`).join('; ')}</span>
          )}
        </td>
      </tr>
    ))}
  </Table>
);

const POINTS = 150;

/** What has changed from one answer to the next. */
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
    setPoints((earlier) => [...earlier.slice(1 - POINTS), [atMs / 1_000, perSecond, calls]]);
  }, [now]);
  const series: Series[] = [
    { label: 'Events of this project per second', values: points.map((point) => point[1]!) },
    { label: 'Calls in flight', values: points.map((point) => point[2]!) },
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
