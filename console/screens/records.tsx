/** The records of a collection by id or by a value, page by page: filtered here, and opened in a dialog. */
import { useState } from 'preact/hooks';
import type { ListRecordsResponse, RecordResponse } from '../../coordinator/contract/records.js';
import { useLoaded } from '../loading.js';
import { useAction } from '../parts/action.js';
import { Field, onSubmit, Problem, Shown } from '../parts/basics.js';
import { recordNameIn } from '../parts/recordName.js';
import { Table } from '../parts/table.js';
import { Metadata, shortened } from '../parts/values.js';
import { addressOf, go } from '../place.js';
import { pathOf, type Service } from '../service.js';
import { RecordDialog } from './record.js';

interface Props {
  readonly service: Service;
  readonly collection: string;
  readonly record: number | undefined;
}

/** Where a page begins. */
type Place = NonNullable<ListRecordsResponse['next']>;

interface Sort {
  readonly key: string;
  readonly order: 'asc' | 'desc';
}

const PAGE_RECORDS = 50;
const SHOWN_CHARS = 120;

export function Records({ service, collection, record }: Props) {
  const [typed, setTyped] = useState('');
  const [filter, setFilter] = useState('');
  const [sort, setSort] = useState<Sort>({ key: '', order: 'asc' });
  const [sorted, setSorted] = useState(sort);
  // The `after` of each page up to the shown one.
  const [pages, setPages] = useState<readonly Place[]>([0]);
  const after = pages.at(-1);
  const list = useLoaded(
    async (signal) => {
      const by = sorted.key === '' ? {} : { order_by: sorted.key, order: sorted.order };
      const asked = withFilter({ collection, limit: PAGE_RECORDS, after, with: ['text'], ...by }, filter);
      return service.call<ListRecordsResponse>('POST', '/v1/records/list', asked, signal);
    },
    [collection, after, filter, sorted],
  );
  const apply = (): void => {
    setFilter(typed.trim());
    setSorted({ ...sort, key: sort.key.trim() });
    setPages([0]);
  };
  const close = (isChanged: boolean): void => {
    go({ screen: 'records', collection });
    if (isChanged) list.reload();
  };
  return (
    <>
      <OpenRecord service={service} collection={collection} />
      <form class="row" onSubmit={onSubmit(apply)}>
        <Field label="Filter by metadata" hint='A filter in JSON, such as {"year": {"gte": 2000}}. Empty: all records.'>
          <input value={typed} size={40} onInput={(event) => setTyped(event.currentTarget.value)} />
        </Field>
        <SortFields sort={sort} onChange={setSort} />
        <button type="submit">Apply filter and order</button>
      </form>
      <Shown of={list}>
        {({ records, next }) => (
          <>
            <Table
              label="Records"
              titles={['Id', 'External id', 'Tag', 'Text', 'Metadata']}
              plain={['Text', 'Metadata']}
              rows={records.map(({ id, external_id: externalId, tag, text, metadata }) => ({
                key: id,
                cells: [
                  <a href={addressOf({ screen: 'records', collection, record: id })}>{id}</a>,
                  externalId === undefined ? undefined : shortened(externalId, SHOWN_CHARS),
                  tag,
                  text == null ? undefined : shortened(text, SHOWN_CHARS),
                  metadata === null ? undefined : <Metadata of={metadata} />,
                ],
              }))}
            />
            {records.length === 0 && (
              <p class="quiet">
                {filter === '' ? 'This collection has no record yet.' : 'No record matches the filter.'}
              </p>
            )}
            <Pager pages={pages} next={next} onChange={setPages} />
          </>
        )}
      </Shown>
      {record !== undefined && (
        <RecordDialog key={record} service={service} collection={collection} id={record} onClose={close} />
      )}
    </>
  );
}

function SortFields({ sort, onChange }: { readonly sort: Sort; readonly onChange: (sort: Sort) => void }) {
  return (
    <>
      <Field label="Sort by" hint="A metadata key, such as year or author.name. Empty: by id.">
        <input value={sort.key} onInput={(event) => onChange({ ...sort, key: event.currentTarget.value })} />
      </Field>
      <select
        aria-label="Ascending or descending"
        value={sort.order}
        onChange={(event) => onChange({ ...sort, order: event.currentTarget.value as Sort['order'] })}
      >
        <option value="asc">ascending</option>
        <option value="desc">descending</option>
      </select>
    </>
  );
}

/** Opens a record by its id or external id. */
function OpenRecord({ service, collection }: Pick<Props, 'service' | 'collection'>) {
  const [typed, setTyped] = useState('');
  const open = useAction(
    async () => {
      const name = recordNameIn(typed);
      if (name === null) throw new Error('Type the id or the external id of a record.');
      if ('id' in name) return name.id;
      const path = pathOf('/v1/records/by-external-id', { collection, external_id: name.external_id });
      return (await service.call<RecordResponse>('GET', path)).id;
    },
    (record) => go({ screen: 'records', collection, record }),
  );
  return (
    <form class="row" onSubmit={onSubmit(open.start)}>
      <Field label="Open a record" hint="Its id, or its external id; one of digits only in quotes.">
        <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </Field>
      <button type="submit" disabled={open.isRunning}>
        Open record
      </button>
      {open.problem !== undefined && <Problem>{open.problem}</Problem>}
    </form>
  );
}

interface PagerProps {
  readonly pages: readonly Place[];
  readonly next: Place | null;
  readonly onChange: (pages: readonly Place[]) => void;
}

const Pager = ({ pages, next, onChange }: PagerProps) => (
  <p class="row">
    <button type="button" class="plain" disabled={pages.length === 1} onClick={() => onChange(pages.slice(0, -1))}>
      Previous page
    </button>
    <button
      type="button"
      class="plain"
      disabled={next === null}
      onClick={() => next !== null && onChange([...pages, next])}
    >
      Next page
    </button>
  </p>
);

/** The request as JSON. The filter is sent as it was typed, since a parser would round its numbers silently. */
function withFilter(asked: object, filter: string): string {
  const request = JSON.stringify(asked);
  if (filter === '') return request;
  if (!isJson(filter)) throw new Error('The filter is not JSON. An example: {"year": {"gte": 2000}}');
  return `${request.slice(0, -1)},"metadata_filter":${filter}}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
