/** All collections of the project: how large they are and how they are searched; made, indexed and dropped here. */
import { useState } from 'preact/hooks';
import type { IndexState, ListCollectionsResponse, ListedCollection } from '../../coordinator/contract/collections.js';
import type { UsageResponse } from '../../coordinator/contract/service.js';
import { type Loaded, useLoaded } from '../loading.js';
import { useAction } from '../parts/action.js';
import { Bar, Buttons, Dialog, Field, grouped, onSubmit, Problem, Shown, sizeText, Table } from '../parts/basics.js';
import { addressOf } from '../place.js';
import type { Service } from '../service.js';

interface Props {
  readonly service: Service;
  readonly list: Loaded<ListCollectionsResponse>;
}

const KINDS = ['brute', 'auto', 'hnsw', 'ivf', 'bq'] as const;
const USAGE_EVERY_MS = 10_000;
const INDEX_EVERY_MS = 1_000;

type Asked = { readonly kind: 'create' } | { readonly kind: 'index' | 'drop'; readonly collection: ListedCollection };

export function Collections({ service, list }: Props) {
  const [asked, setAsked] = useState<Asked>();
  const usage = useLoaded(
    (signal) => service.call<UsageResponse>('GET', '/v1/usage', undefined, signal),
    [service],
    USAGE_EVERY_MS,
  );
  const done = (): void => {
    setAsked(undefined);
    list.reload();
  };
  return (
    <>
      <p class="row">
        <button type="button" onClick={() => setAsked({ kind: 'create' })}>
          New collection
        </button>
        {usage.value !== undefined && <Usage of={usage.value} />}
      </p>
      <Shown of={list}>
        {({ collections }) =>
          collections.length === 0 ? (
            <p class="quiet">There is no collection yet.</p>
          ) : (
            <>
              <Table
                label="Collections"
                titles={['Name', 'Records', 'Dimension', 'Vectors, computed', 'Index', 'Actions']}
              >
                {collections.map((collection) => (
                  <Row key={collection.id} service={service} collection={collection} onAsk={setAsked} />
                ))}
              </Table>
              <p class="quiet">
                Vectors: records × dimension × 4 bytes, computed here. What is stored, with metadata, texts and logs, is
                counted for the project as a whole.
              </p>
            </>
          )
        }
      </Shown>
      {asked?.kind === 'create' && <Create service={service} onDone={done} />}
      {asked?.kind === 'index' && <ChooseIndex service={service} collection={asked.collection} onDone={done} />}
      {asked?.kind === 'drop' && <Drop service={service} collection={asked.collection} onDone={done} />}
    </>
  );
}

const Usage = ({ of: { bytes, records } }: { readonly of: UsageResponse }) => (
  <span class="quiet">
    {grouped(records)} records, {sizeText(bytes.total)} of {sizeText(bytes.limit)}{' '}
    <Bar share={bytes.total / bytes.limit} label="Bytes of the project" />
  </span>
);

interface RowProps {
  readonly service: Service;
  readonly collection: ListedCollection;
  readonly onAsk: (asked: Asked) => void;
}

const BYTES_PER_COMPONENT = 4;

function Row({ service, collection, onAsk }: RowProps) {
  const { name, dimension, record_count: records, importing } = collection;
  return (
    <tr>
      <th scope="row">
        <a href={addressOf({ screen: 'records', collection: name })}>{name}</a>
        {importing === true && <span class="badge">importing</span>}
      </th>
      <td class="number">{grouped(records)}</td>
      <td class="number">{grouped(dimension)}</td>
      <td class="number">{sizeText(records * dimension * BYTES_PER_COMPONENT)}</td>
      <td>{importing === true ? '–' : <IndexOf service={service} collection={collection} />}</td>
      <td>
        <div class="row">
          <button type="button" class="plain" onClick={() => onAsk({ kind: 'index', collection })}>
            Index …
          </button>
          <button type="button" class="plain" onClick={() => onAsk({ kind: 'drop', collection })}>
            Drop …
          </button>
        </div>
      </td>
    </tr>
  );
}

/** The index that serves, and the one that is being built. */
function IndexOf({ service, collection: { name, index } }: Omit<RowProps, 'onAsk'>) {
  const path = `/v1/namespaces/${encodeURIComponent(name)}/index`;
  const state = useLoaded(
    (signal) => service.call<IndexState>('GET', path, undefined, signal),
    [service, path, index],
    INDEX_EVERY_MS,
  ).value;
  const serves = index === 'brute' ? 'exact' : index;
  if (state === undefined) return <>{serves}</>;
  if (state.status === 'building')
    return (
      <>
        {serves}{' '}
        <Bar share={state.build_progress ?? 0} label={`Building ${state.desired_type ?? 'the index'} of ${name}`} />{' '}
        {state.desired_type ?? ''}
      </>
    );
  return (
    <>
      {serves}
      {state.status === 'failed' && <span class="badge bad">{state.error ?? 'the last build failed'}</span>}
    </>
  );
}

interface AskProps {
  readonly service: Service;
  readonly onDone: () => void;
}

function Create({ service, onDone }: AskProps) {
  const [name, setName] = useState('');
  const [dimension, setDimension] = useState('');
  const [index, setIndex] = useState<string>('auto');
  const wanted = { name, dimension: Number(dimension), metric: 'squared_l2', index };
  const { problem, isRunning, start } = useAction(() => service.call('POST', '/v1/namespaces', wanted), onDone);
  return (
    <Dialog title="New collection" onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <Field label="Name" hint="1 to 64 of A-Z a-z 0-9 _ -">
          <input
            value={name}
            required
            pattern="[A-Za-z0-9_\-]{1,64}"
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </Field>
        <Field label="Dimension" hint="How many numbers a vector has. It is fixed.">
          <input
            type="number"
            min={1}
            max={32_768}
            value={dimension}
            required
            onInput={(event) => setDimension(event.currentTarget.value)}
          />
        </Field>
        <Field label="Index">
          <select value={index} onChange={(event) => setIndex(event.currentTarget.value)}>
            {KINDS.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </Field>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning} does="Create" onCancel={onDone} />
      </form>
    </Dialog>
  );
}

function ChooseIndex({ service, collection, onDone }: AskProps & { readonly collection: ListedCollection }) {
  const [type, setType] = useState<string>(collection.index === 'brute' ? 'hnsw' : collection.index);
  const path = `/v1/namespaces/${encodeURIComponent(collection.name)}/index`;
  const wanted = { type: type === 'brute' ? null : type };
  const { problem, isRunning, start } = useAction(() => service.call('POST', path, wanted), onDone);
  return (
    <Dialog title={`Index of ${collection.name}`} onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <Field label="Kind" hint="brute is exact search without an index. Searches go on while an index is built.">
          <select value={type} onChange={(event) => setType(event.currentTarget.value)}>
            {KINDS.filter((kind) => kind !== 'auto').map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </Field>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning} does={type === 'brute' ? 'Drop the index' : 'Build'} onCancel={onDone} />
      </form>
    </Dialog>
  );
}

function Drop({ service, collection: { name }, onDone }: AskProps & { readonly collection: ListedCollection }) {
  const [typed, setTyped] = useState('');
  const path = `/v1/namespaces/${encodeURIComponent(name)}`;
  const { problem, isRunning, start } = useAction(() => service.call('DELETE', path), onDone);
  return (
    <Dialog title={`Drop ${name}`} onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <p>All its records, its index and its log are erased. Nothing brings them back.</p>
        <Field label="Type the name of the collection">
          <input value={typed} required onInput={(event) => setTyped(event.currentTarget.value)} />
        </Field>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning || typed !== name} does="Drop it" isGrave onCancel={onDone} />
      </form>
    </Dialog>
  );
}
