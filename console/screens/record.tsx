/** One record: what it holds, its metadata to edit, and its end. */
import { useState } from 'preact/hooks';
import type { GetRecordsResponse, ListedRecord } from '../../coordinator/contract/records.js';
import { useLoaded } from '../loading.js';
import { useAction } from '../parts/action.js';
import { Dialog, Field, onSubmit, Problem, Shown } from '../parts/basics.js';
import { addressOf } from '../place.js';
import { pathOf, type Service } from '../service.js';

interface Props {
  readonly service: Service;
  readonly collection: string;
  readonly id: number;
  readonly onClose: (isChanged: boolean) => void;
}

export function RecordDialog({ service, collection, id, onClose }: Props) {
  const asked = { collection, ids: [id], with: ['vector', 'text'] };
  const got = useLoaded(
    (signal) => service.call<GetRecordsResponse>('POST', '/v1/records/get', asked, signal),
    [collection, id],
  );
  return (
    <Dialog title={`Record ${id} of ${collection}`} onClose={() => onClose(false)}>
      <Shown of={got}>
        {({ records: [record] }) =>
          record === undefined ? (
            <p>There is no such record, or it is deleted.</p>
          ) : (
            <Content service={service} collection={collection} record={record} onClose={onClose} />
          )
        }
      </Shown>
    </Dialog>
  );
}

type ContentProps = Omit<Props, 'id'> & { readonly record: ListedRecord };

/** What cannot be changed here. */
function Fixed({ record: { external_id: externalId, tag, text, vector = [] } }: Pick<ContentProps, 'record'>) {
  return (
    <dl>
      {externalId !== undefined && (
        <>
          <dt>External id</dt>
          <dd>{externalId}</dd>
        </>
      )}
      <dt>Tag</dt>
      <dd>{tag}</dd>
      <dt>Text</dt>
      <dd>{text ?? <span class="quiet">none</span>}</dd>
      <dt>Vector</dt>
      <dd>
        <details>
          <summary>{vector.length} components</summary>
          <code class="broken">{vector.join(', ')}</code>
        </details>
      </dd>
    </dl>
  );
}

function Content({ service, collection, record, onClose }: ContentProps) {
  const { id, metadata } = record;
  const written = metadata === null ? '' : JSON.stringify(metadata, null, 2);
  const [typed, setTyped] = useState(written);
  const [deletion, setDeletion] = useState<'/v1/soft-delete' | '/v1/delete'>();
  const path = pathOf(`/v1/records/${id}/metadata`, { collection });
  const save = useAction(
    // Parsed here: what is no JSON gets its reason where it is typed.
    async () => service.call('PATCH', path, JSON.parse(typed) as object),
    () => onClose(true),
  );
  const remove = useAction(
    async () => service.call('POST', deletion ?? '/v1/delete', { collection, id }),
    () => onClose(true),
  );
  const problem = save.problem ?? remove.problem;
  return (
    <form onSubmit={onSubmit(save.start)}>
      <Fixed record={record} />
      <Field label="Metadata" hint="A JSON object; it is replaced as a whole.">
        <textarea value={typed} rows={8} onInput={(event) => setTyped(event.currentTarget.value)} />
      </Field>
      {problem !== undefined && <Problem>{problem}</Problem>}
      {deletion === undefined ? (
        <p class="row end">
          <a href={addressOf({ screen: 'search', collection, record: id })}>More like this</a>
          <button type="button" class="plain" onClick={() => setDeletion('/v1/soft-delete')}>
            Hide …
          </button>
          <button type="button" class="plain" onClick={() => setDeletion('/v1/delete')}>
            Delete …
          </button>
          <button type="submit" disabled={save.isRunning || typed === written}>
            Save
          </button>
        </p>
      ) : (
        <>
          <p>
            {deletion === '/v1/delete'
              ? 'The record is deleted for good. The log keeps that it was there.'
              : 'No search finds the record any more. What it holds is kept.'}
          </p>
          <p class="row end">
            <button type="button" class="plain" onClick={() => setDeletion(undefined)}>
              Cancel
            </button>
            <button type="button" class="grave" disabled={remove.isRunning} onClick={remove.start}>
              {deletion === '/v1/delete' ? 'Delete it' : 'Hide it'}
            </button>
          </p>
        </>
      )}
    </form>
  );
}
