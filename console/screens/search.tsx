/** The search lab: two variants of a search side by side, each in any past state of the collection. */
import { useEffect, useState } from 'preact/hooks';
import type { ListedCollection } from '../../coordinator/contract/collections.js';
import type { EventLogProofResponse } from '../../coordinator/contract/proofs.js';
import type { SearchRequest, TextSearchRequest } from '../../coordinator/contract/search.js';
import { useLoaded } from '../loading.js';
import { Problem } from '../parts/basics.js';
import { counted } from '../parts/values.js';
import { compare } from '../search/compared.js';
import { SearchFields } from '../search/fields.js';
import { EMPTY_FORM, type Form, requestOf, type Side } from '../search/request.js';
import { Hits, type SideFound, SideSettings, useSearch } from '../search/side.js';
import { pathOf, type Service } from '../service.js';

interface Props {
  readonly service: Service;
  readonly collection: ListedCollection;
  /** The record that the form starts with: it searches for similar ones. */
  readonly record: number | undefined;
  /** Receives the ids of the latest hits, which the map marks. */
  readonly onFound: (ids: readonly number[]) => void;
}

const FIRST: Side = { k: 10, kind: 'index', moment: null };
const SECOND: Side = { k: 10, kind: 'exact', moment: null };
const EVENTS_EVERY_MS = 10_000;
const NAMES = { alone: 'Search', first: 'Search A', second: 'Search B' } as const;
/** A search starts when input has been unchanged for this long. */
const RESTS_MS = 300;

export function Search({ service, collection: { name, index }, record, onFound }: Props) {
  const [form, setForm] = useState<Form>({ ...EMPTY_FORM, record: record === undefined ? '' : String(record) });
  const [first, setFirst] = useState(FIRST);
  const [second, setSecond] = useState<Side>();
  const path = pathOf('/v1/proof/event-log', { collection: name });
  const log = useLoaded(
    (signal) => service.call<EventLogProofResponse>('GET', path, undefined, signal),
    [path],
    service.poll(EVENTS_EVERY_MS),
  );
  const sequence = log.value?.event_count ?? 0;
  const asked = useRested(asking(form, [first, second], name, sequence));
  const foundFirst = useSearch(service, asked.requests[0]);
  const foundSecond = useSearch(service, asked.requests[1]);
  const hits = foundFirst.value?.body.results;
  useEffect(() => {
    if (hits !== undefined) onFound(hits.map(({ id }) => id));
  }, [hits]);
  const settings = { sequence, index };
  return (
    <>
      <SearchFields form={form} onChange={setForm} />
      <div class={second === undefined ? '' : 'sides'}>
        <SideSettings
          {...settings}
          name={second === undefined ? NAMES.alone : NAMES.first}
          side={first}
          onChange={setFirst}
        />
        {second !== undefined && <SideSettings {...settings} name={NAMES.second} side={second} onChange={setSecond} />}
      </div>
      <p class="row">
        <label>
          <input
            type="checkbox"
            checked={second !== undefined}
            onChange={(event) => setSecond(event.currentTarget.checked ? SECOND : undefined)}
          />{' '}
          Compare with a second search, which may use another method, number of hits or point in time
        </label>
      </p>
      {asked.problem !== undefined && <Problem>{asked.problem}</Problem>}
      <Found
        collection={name}
        first={foundFirst}
        second={second === undefined ? undefined : foundSecond}
        isAsked={asked.requests[0] !== null}
      />
    </>
  );
}

interface FoundProps {
  readonly collection: string;
  readonly first: SideFound;
  readonly second: SideFound | undefined;
  readonly isAsked: boolean;
}

function Found({ collection, first, second, isAsked }: FoundProps) {
  if (!isAsked)
    return <p class="quiet">Enter the id of a record, a vector or words above. The search then starts by itself.</p>;
  const [one, other] = [first.value?.body.results, second?.value?.body.results];
  const compared = one !== undefined && other !== undefined ? compare(one, other) : undefined;
  return (
    <>
      {compared !== undefined && (
        <p role="status">
          Both searches found <strong>{counted(compared.both.size, 'record')}</strong>.{' '}
          {compared.onlyFirst.length > 0 && `Only ${NAMES.first} found: ${compared.onlyFirst.join(', ')}. `}
          {compared.onlySecond.length > 0 && `Only ${NAMES.second} found: ${compared.onlySecond.join(', ')}.`}
        </p>
      )}
      <div class={second === undefined ? '' : 'sides'}>
        <Hits
          name={second === undefined ? NAMES.alone : NAMES.first}
          collection={collection}
          found={first}
          shared={compared?.both}
        />
        {second !== undefined && (
          <Hits name={NAMES.second} collection={collection} found={second} shared={compared?.both} />
        )}
      </div>
    </>
  );
}

type Request = SearchRequest | TextSearchRequest | null;

interface Asking {
  readonly requests: readonly [Request, Request];
  readonly problem: string | undefined;
}

function asking(
  form: Form,
  [first, second]: readonly [Side, Side | undefined],
  name: string,
  sequence: number,
): Asking {
  try {
    const requests = [
      requestOf(form, first, name, sequence),
      second === undefined ? null : requestOf(form, second, name, sequence),
    ] as const;
    return { requests, problem: undefined };
  } catch (error) {
    return { requests: [null, null], problem: (error as Error).message };
  }
}

/** The last value that was unchanged for `RESTS_MS`. */
function useRested<T>(value: T): T {
  const [rested, setRested] = useState(value);
  const text = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), RESTS_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return rested;
}
