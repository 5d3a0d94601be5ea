/** The settings of one search, and its hits. */
import type {
  SearchHit,
  SearchRequest,
  SearchResponse,
  TextHit,
  TextSearchRequest,
  TextSearchResponse,
} from '../../coordinator/contract/search.js';
import { type Loaded, useLoaded } from '../loading.js';
import { Field, Shown } from '../parts/basics.js';
import { Table } from '../parts/table.js';
import { counted, grouped, Metadata, shortened, Time } from '../parts/values.js';
import { addressOf } from '../place.js';
import type { Answered, Service } from '../service.js';
import type { Side } from './request.js';

type Response = SearchResponse | TextSearchResponse;
export type SideFound = Loaded<Answered<Response> | undefined>;

export function useSearch(service: Service, request: SearchRequest | TextSearchRequest | null): SideFound {
  return useLoaded(
    async (signal) =>
      request === null ? undefined : service.timed<Response>('POST', pathFor(request), request, signal),
    [service, JSON.stringify(request)],
  );
}

const pathFor = (request: SearchRequest | TextSearchRequest): string =>
  'query' in request || 'like' in request ? '/v1/search' : '/v1/search/text';

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
        <Field label="Number of hits (k)">
          <input
            type="number"
            min={1}
            max={5_000}
            value={k}
            onInput={(event) => onChange({ ...side, k: Math.max(1, Number(event.currentTarget.value)) })}
          />
        </Field>
        <Field label="Method">
          <select
            value={moment === null ? kind : 'exact'}
            disabled={moment !== null}
            onChange={(event) => onChange({ ...side, kind: event.currentTarget.value as Side['kind'] })}
          >
            <option value="index">{index === 'brute' ? 'as usual: exact scan' : `as usual: ${index} index`}</option>
            <option value="exact">exact scan of all vectors</option>
          </select>
        </Field>
        <Field
          label={
            moment === null
              ? 'Point in time: now'
              : `Point in time: after event ${grouped(moment)} of ${grouped(sequence)}`
          }
        >
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
  /** Ids that both searches found; undefined without a second search. */
  readonly shared: ReadonlySet<number> | undefined;
}

const TEXT_CHARS = 120;
const ID_CHARS = 60;

export const Hits = ({ name, collection, found, shared }: HitsProps) => (
  <section aria-label={name} aria-busy={found.isLoading}>
    <Shown of={found}>
      {(answer) =>
        answer === undefined ? null : (
          <>
            {shared !== undefined && <h2>{name}</h2>}
            <p class="quiet" role="status">
              {counted(answer.body.results.length, 'hit')} in {answer.tookMs.toFixed(1)} ms
              <PointInTime of={answer.body} />
            </p>
            <HitTable label={`Hits: ${name}`} hits={answer.body.results} collection={collection} shared={shared} />
          </>
        )
      }
    </Shown>
  </section>
);

interface HitTableProps extends Pick<HitsProps, 'collection' | 'shared'> {
  readonly label: string;
  readonly hits: readonly (SearchHit | TextHit)[];
}

/** The column of external ids is there if a hit has one. */
function HitTable({ label, hits, collection, shared }: HitTableProps) {
  const isNamed = hits.some(({ external_id: externalId }) => externalId !== undefined);
  const scoreTitle = hits.some((hit) => 'score' in hit) ? 'Squared distance' : 'Text score';
  return (
    <Table
      label={label}
      titles={['Id', ...(isNamed ? ['External id'] : []), scoreTitle, 'Record']}
      plain={['Record']}
      rows={hits.map((hit) => rowOf(hit, collection, shared, isNamed))}
    />
  );
}

function rowOf(
  hit: SearchHit | TextHit,
  collection: string,
  shared: ReadonlySet<number> | undefined,
  isNamed: boolean,
) {
  const isMarked = shared !== undefined && !shared.has(hit.id);
  const cells = [
    <>
      <a href={addressOf({ screen: 'records', collection, record: hit.id })}>{hit.id}</a>
      {isMarked && <span class="badge">only here</span>}
    </>,
    ...(isNamed ? [shortened(hit.external_id ?? '', ID_CHARS)] : []),
    'score' in hit ? <Scores of={hit} /> : hit.text_score.toPrecision(6),
    <>
      {shortened(hit.text ?? '', TEXT_CHARS)} <Metadata of={hit.metadata} />
    </>,
  ];
  return { key: hit.id, cells, isMarked };
}

function Scores({ of: hit }: { readonly of: SearchHit }) {
  const { score, similarity, decay_factor: decay, text_score: textScore, graph_distance: hops } = hit;
  return (
    <>
      {score.toPrecision(6)}
      {similarity !== undefined && <small class="quiet"> cosine {similarity.toPrecision(4)}</small>}
      {textScore !== undefined && <small class="quiet"> text score {textScore.toPrecision(4)}</small>}
      {decay !== undefined && <small class="quiet"> age factor {decay.toPrecision(3)}</small>}
      {hops != null && <small class="quiet"> {counted(hops, 'hop')}</small>}
    </>
  );
}

const PointInTime = ({ of: { as_of_log_index: index, as_of_timestamp: seconds } }: { readonly of: Response }) =>
  index === undefined ? null : (
    <>
      , in the state after event {grouped(index)}
      {seconds != null && (
        <>
          {' '}
          (<Time ms={seconds * 1_000} />)
        </>
      )}
    </>
  );
