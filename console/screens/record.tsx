/** One record: its content, its metadata to edit, and its deletion. */
import { useState } from 'preact/hooks';
import type { GetRecordsResponse, ListedRecord } from '../../coordinator/contract/records.js';
import { useLoaded } from '../loading.js';
import { useAction } from '../parts/action.js';
import { Dialog, Field, onSubmit, Problem, Shown } from '../parts/basics.js';
import { counted, Time } from '../parts/values.js';
import { addressOf } from '../place.js';
import { pathOf, type Service } from '../service.js';

interface Props {
  readonly service: Service;
  readonly collection: string;
  readonly id: number;
  readonly onClose: (isChanged: boolean) => void;
}

export function RecordDialog({ service, collection, id, onClose }: Props) {
  const asked = { collection, ids: [id], with: ['vector', 'text', 'log_index'] };
  const got = useLoaded(
    (signal) => service.call<GetRecordsResponse>('POST', '/v1/records/get', asked, signal),
    [collection, id],
  );
  return (
    <Dialog title={`Record ${id} of ${collection}`} onClose={() => onClose(false)}>
      <Shown of={got}>
        {({ records: [record] }) =>
          record === undefined ? (
            <p>The collection has no record with this id, or it was deleted.</p>
          ) : (
            <Content service={service} collection={collection} record={record} onClose={onClose} />
          )
        }
      </Shown>
    </Dialog>
  );
}

type ContentProps = Omit<Props, 'id'> & { readonly record: ListedRecord };

/** The fields of a record that cannot be changed here. */
function Fixed({ record }: Pick<ContentProps, 'record'>) {
  const { external_id: externalId, expires_at: expiresAt, key_id: keyId } = record;
  const { tag, text, vector = [], log_index: changedBy } = record;
  return (
    <dl>
      {externalId !== undefined && (
        <>
          <dt>External id</dt>
          <dd>{externalId}</dd>
        </>
      )}
      {expiresAt !== undefined && (
        <>
          <dt>Expires</dt>
          <dd>
            <Time ms={1000 * expiresAt} />
          </dd>
        </>
      )}
      {keyId !== undefined && (
        <>
          <dt>Under key</dt>
          <dd>
            <code class="broken">{keyId}</code>
          </dd>
        </>
      )}
      <dt>Tag</dt>
      <dd>{tag}</dd>
      <dt>Last change</dt>
      <dd>event {changedBy}</dd>
      <dt>Text</dt>
      <dd>{text ?? <span class="quiet">none</span>}</dd>
      <dt>Vector</dt>
      <dd>
        <details>
          <summary>{counted(vector.length, 'number')}</summary>
          <code class="broken">{vector.join(', ')}</code>
        </details>
      </dd>
    </dl>
  );
}

function Content({ service, collection, record, onClose }: ContentProps) {
  const { id, metadata, log_index: if_log_index } = record;
  const written = metadata === null ? '' : JSON.stringify(metadata, null, 2);
  const [typed, setTyped] = useState(written);
  const [deletion, setDeletion] = useState<'/v1/soft-delete' | '/v1/delete'>();
  // Refused if the record has changed since it was read.
  const path = pathOf(`/v1/records/${id}/metadata`, { collection, if_log_index });
  const save = useAction(
    async () => {
      if (!isObject(typed)) throw new Error('The metadata is not a JSON object. An example: {"year": 2000}');
      // Sent as it was typed: a parser would round its numbers silently.
      return service.call('PATCH', path, typed);
    },
    () => onClose(true),
  );
  const remove = useAction(
    async () => service.call('POST', deletion ?? '/v1/delete', { collection, id, if_log_index }),
    () => onClose(true),
  );
  const problem = save.problem ?? remove.problem;
  return (
    <form onSubmit={onSubmit(save.start)}>
      <Fixed record={record} />
      <Field label="Metadata" {...(service.mayWrite && { hint: 'A JSON object. Saving replaces all of it.' })}>
        <textarea
          value={typed}
          rows={8}
          readOnly={!service.mayWrite}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </Field>
      {problem !== undefined && <Problem>{problem}</Problem>}
      {deletion === undefined ? (
        <p class="row end">
          <a href={addressOf({ screen: 'search', collection, record: id })}>Find similar records</a>
          {service.mayWrite && (
            <>
              <button type="button" class="plain" onClick={() => setDeletion('/v1/soft-delete')}>
                Soft-delete …
              </button>
              <button type="button" class="plain" onClick={() => setDeletion('/v1/delete')}>
                Delete …
              </button>
              <button type="submit" disabled={save.isRunning || typed === written}>
                Save metadata
              </button>
            </>
          )}
        </p>
      ) : (
        <>
          <p>
            {deletion === '/v1/delete'
              ? 'This deletes the record and cannot be undone. The log still proves that the record existed.'
              : 'Searches and lists will no longer find the record. The service keeps its content until it is deleted.'}
          </p>
          <p class="row end">
            <button type="button" class="plain" onClick={() => setDeletion(undefined)}>
              Cancel
            </button>
            <button type="button" class="grave" disabled={remove.isRunning} onClick={remove.start}>
              {deletion === '/v1/delete' ? 'Delete record' : 'Soft-delete record'}
            </button>
          </p>
        </>
      )}
    </form>
  );
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
