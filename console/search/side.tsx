/** One way of asking, and what it found. */
import type { SearchHit, SearchRequest, SearchResponse } from '../../coordinator/contract/search.js';
import { type Loaded, useLoaded } from '../loading.js';
import { Field, grouped, Shown, shortened, Table } from '../parts/basics.js';
import { addressOf } from '../place.js';
import type { Answered, Service } from '../service.js';
import type { Side } from './request.js';

export type SideFound = Loaded<Answered<SearchResponse> | undefined>;

export function useSearch(service: Service, request: SearchRequest | null): SideFound {
  return useLoaded(
    async (signal) =>
      request === null ? undefined : service.timed<SearchResponse>('POST', '/v1/search', request, signal),
    [service, JSON.stringify(request)],
  );
}

interface SettingsProps {
  readonly name: string;
  readonly side: Side;
  /** The committed events. */
  readonly sequence: number;
  readonly index: string;
  readonly onChange: (side: Side) => void;
}

export function SideSettings({ name, side, sequence, index, onChange }: SettingsProps) {
  const { k, kind, moment } = side;
  return (
    <fieldset>
      <legend>{name}</legend>
      <div class="row">
        <Field label="k">
          <input
            type="number"
            min={1}
            max={5_000}
            value={k}
            onInput={(event) => onChange({ ...side, k: Math.max(1, Number(event.currentTarget.value)) })}
          />
        </Field>
        <Field label="Through">
          <select
            value={moment === null ? kind : 'exact'}
            disabled={moment !== null}
            onChange={(event) => onChange({ ...side, kind: event.currentTarget.value as Side['kind'] })}
          >
            <option value="index">{index === 'brute' ? 'the scan (exact)' : `the ${index} index`}</option>
            <option value="exact">an exact scan</option>
          </select>
        </Field>
        <Field label={moment === null ? 'Moment: now' : `Moment: after ${grouped(moment)} events`}>
          <input
            type="range"
            disabled={sequence === 0}
            min={0}
            max={sequence}
            value={moment ?? sequence}
            onInput={(event) => {
              const at = Number(event.currentTarget.value);
              onChange({ ...side, moment: at >= sequence ? null : at });
            }}
          />
        </Field>
      </div>
    </fieldset>
  );
}

interface HitsProps {
  readonly name: string;
  readonly collection: string;
  readonly found: SideFound;
  /** Ids that the other side has too; undefined: there is no other side. */
  readonly shared: ReadonlySet<number> | undefined;
}

const TEXT_CHARS = 120;

export const Hits = ({ name, collection, found, shared }: HitsProps) => (
  <section aria-label={name} aria-busy={found.isLoading}>
    <Shown of={found}>
      {(answer) =>
        answer === undefined ? null : (
          <>
            <p class="quiet" role="status">
              {answer.body.results.length} hits in {answer.tookMs.toFixed(1)} ms{momentOf(answer.body)}
            </p>
            <Table label={`Hits: ${name}`} titles={['Id', 'Score', 'Record']}>
              {answer.body.results.map((hit) => (
                <tr key={hit.id} class={shared !== undefined && !shared.has(hit.id) ? 'differs' : ''}>
                  <th scope="row">
                    <a href={addressOf({ screen: 'records', collection, record: hit.id })}>{hit.id}</a>
                    {shared !== undefined && !shared.has(hit.id) && <span class="badge">only here</span>}
                  </th>
                  <td class="number">
                    {hit.score.toPrecision(6)}
                    <Order of={hit} />
                  </td>
                  <td>
                    {shortened(hit.text ?? '', TEXT_CHARS)}{' '}
                    {hit.metadata != null && <code>{shortened(JSON.stringify(hit.metadata), TEXT_CHARS)}</code>}
                  </td>
                </tr>
              ))}
            </Table>
          </>
        )
      }
    </Shown>
  </section>
);

const Order = ({ of: { decay_factor: decay, graph_distance: hops } }: { readonly of: SearchHit }) => (
  <>
    {decay !== undefined && <small class="quiet"> × 1/{decay.toPrecision(3)}</small>}
    {hops != null && <small class="quiet"> {hops} hops</small>}
  </>
);

function momentOf({ as_of_log_index: index, as_of_timestamp: seconds }: SearchResponse): string {
  if (index === undefined) return '';
  const when = seconds == null ? '' : `, ${new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')}`;
  return `, of the state after ${grouped(index)} events${when}`;
}
