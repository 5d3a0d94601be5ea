/** The records of a collection, page by page in the order of their ids: filtered, opened, edited, deleted. */
import { useState } from 'preact/hooks';
import type { ListRecordsResponse } from '../../coordinator/contract/records.js';
import { useLoaded } from '../loading.js';
import { Field, onSubmit, Shown, shortened, Table } from '../parts/basics.js';
import { addressOf, go } from '../place.js';
import type { Service } from '../service.js';
import { RecordDialog } from './record.js';

interface Props {
  readonly service: Service;
  readonly collection: string;
  readonly record: number | undefined;
}

const PAGE_RECORDS = 50;
const SHOWN_CHARS = 160;

export function Records({ service, collection, record }: Props) {
  const [typed, setTyped] = useState('');
  const [filter, setFilter] = useState('');
  /** The `after` of each page up to the shown one. */
  const [pages, setPages] = useState<readonly number[]>([0]);
  const after = pages.at(-1);
  const list = useLoaded(
    async (signal) => {
      const asked = withFilter({ collection, limit: PAGE_RECORDS, after, with: ['text'] }, filter);
      return service.call<ListRecordsResponse>('POST', '/v1/records/list', asked, signal);
    },
    [collection, after, filter],
  );
  const apply = (): void => {
    setFilter(typed.trim());
    setPages([0]);
  };
  const close = (isChanged: boolean): void => {
    go({ screen: 'records', collection });
    if (isChanged) list.reload();
  };
  return (
    <>
      <form class="row" onSubmit={onSubmit(apply)}>
        <Field label="Filter" hint='JSON, as in a search: {"year": {"gte": 2000}}'>
          <input value={typed} size={40} onInput={(event) => setTyped(event.currentTarget.value)} />
        </Field>
        <button type="submit">Apply</button>
      </form>
      <Shown of={list}>
        {({ records, next }) => (
          <>
            <Table label="Records" titles={['Id', 'External id', 'Tag', 'Text', 'Metadata']}>
              {records.map(({ id, external_id: externalId, tag, text, metadata }) => (
                <tr key={id}>
                  <th scope="row">
                    <a href={addressOf({ screen: 'records', collection, record: id })}>{id}</a>
                  </th>
                  <td>{shortened(externalId ?? '', SHOWN_CHARS)}</td>
                  <td class="number">{tag}</td>
                  <td>{shortened(text ?? '', SHOWN_CHARS)}</td>
                  <td>
                    <code>{metadata === null ? '' : shortened(JSON.stringify(metadata), SHOWN_CHARS)}</code>
                  </td>
                </tr>
              ))}
            </Table>
            {records.length === 0 && <p class="quiet">There is no such record.</p>}
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

interface PagerProps {
  readonly pages: readonly number[];
  readonly next: number | null;
  readonly onChange: (pages: readonly number[]) => void;
}

const Pager = ({ pages, next, onChange }: PagerProps) => (
  <p class="row">
    <button type="button" class="plain" disabled={pages.length === 1} onClick={() => onChange(pages.slice(0, -1))}>
      Back
    </button>
    <button
      type="button"
      class="plain"
      disabled={next === null}
      onClick={() => next !== null && onChange([...pages, next])}
    >
      Next
    </button>
  </p>
);

/** The request as JSON. The filter is sent as it was typed, since a parser would round its numbers without a word. */
function withFilter(asked: object, filter: string): string {
  const request = JSON.stringify(asked);
  if (filter === '') return request;
  if (!isJson(filter)) throw new Error('The filter is not JSON.');
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
