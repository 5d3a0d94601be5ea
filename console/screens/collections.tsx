/** The collections of the project, with their sizes and indexes: created, indexed and deleted here. */
import { useState } from 'preact/hooks';
import type { IndexState, ListCollectionsResponse, ListedCollection } from '../../coordinator/contract/collections.js';
import type { UsageResponse } from '../../coordinator/contract/service.js';
import { type Loaded, useLoaded } from '../loading.js';
import { useAction } from '../parts/action.js';
import { Bar, Buttons, Dialog, Field, onSubmit, Problem, Shown } from '../parts/basics.js';
import { LANGUAGES } from '../parts/languages.js';
import { Table } from '../parts/table.js';
import { counted, grouped, sizeText } from '../parts/values.js';
import { addressOf } from '../place.js';
import type { Service } from '../service.js';
import { Aliases } from './aliases.js';

interface Props {
  readonly service: Service;
  readonly list: Loaded<ListCollectionsResponse>;
}

const KINDS: Readonly<Record<'auto' | ListedCollection['index'], string>> = {
  brute: 'no index (brute): exact search',
  auto: 'automatic (auto): exact while that is fast, then hnsw',
  hnsw: 'graph of neighbours (hnsw): the fastest searches',
  ivf: 'lists of near vectors (ivf): quick to build',
  bq: 'binary codes (bq): little memory',
};
type Kind = keyof typeof KINDS;
const USAGE_EVERY_MS = 30_000;
const BUILDING_EVERY_MS = 1_000;
/** A build may be started by another client, or by the service. */
const INDEX_EVERY_MS = 20_000;

type Asked = { readonly kind: 'create' } | { readonly kind: 'index' | 'drop'; readonly collection: ListedCollection };

export function Collections({ service, list }: Props) {
  const [asked, setAsked] = useState<Asked>();
  const usage = useLoaded(
    (signal) => service.call<UsageResponse>('GET', '/v1/usage', undefined, signal),
    [service],
    service.poll(USAGE_EVERY_MS),
  );
  const done = (): void => {
    setAsked(undefined);
    list.reload();
  };
  return (
    <>
      <p class="row">
        {service.mayWrite && (
          <button type="button" onClick={() => setAsked({ kind: 'create' })}>
            New collection
          </button>
        )}
        {usage.value !== undefined && <Usage of={usage.value} />}
      </p>
      <Shown of={list}>
        {({ collections }) =>
          collections.length === 0 ? (
            <p class="quiet">This project has no collection yet.</p>
          ) : (
            <>
              <Table
                label="Collections"
                titles={service.mayWrite ? [...TITLES, 'Actions'] : TITLES}
                plain={['Actions']}
                rows={collections.map((collection) => rowOf(service, collection, setAsked))}
              />
              <p class="quiet">
                Vector data is records × dimension × 4 bytes. The bytes of the project also count metadata, texts and
                logs.
              </p>
              <Aliases service={service} collections={collections.map(({ name }) => name)} />
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
    The project holds {counted(records, 'record')} and uses {sizeText(bytes.total)} of {sizeText(bytes.limit)}{' '}
    <Bar share={bytes.total / bytes.limit} label="Bytes of the project" />
  </span>
);

const TITLES = ['Name', 'Records', 'Dimension', 'Vector data', 'Index'];
const BYTES_PER_COMPONENT = 4;

function rowOf(service: Service, collection: ListedCollection, onAsk: (asked: Asked) => void) {
  const { id, name, dimension, record_count: records, importing } = collection;
  const { normalise, text, ttl_secs: ttlSecs, erasable } = collection;
  const actions = (
    <span class="actions">
      <button type="button" class="plain" onClick={() => onAsk({ kind: 'index', collection })}>
        Change index …
      </button>
      <button type="button" class="plain" onClick={() => onAsk({ kind: 'drop', collection })}>
        Delete …
      </button>
    </span>
  );
  const cells = [
    <>
      <a href={addressOf({ screen: 'records', collection: name })}>{name}</a>
      {normalise === true && <span class="badge">cosine</span>}
      {text !== undefined && <span class="badge">{LANGUAGES[text.language]}</span>}
      {ttlSecs !== undefined && <span class="badge">expire after {grouped(ttlSecs)} s</span>}
      {erasable === true && <span class="badge">erasable</span>}
      {importing === true && <span class="badge">importing</span>}
    </>,
    grouped(records),
    grouped(dimension),
    sizeText(records * dimension * BYTES_PER_COMPONENT),
    importing === true ? '–' : <IndexOf service={service} collection={collection} />,
  ];
  return { key: id, cells: service.mayWrite ? [...cells, actions] : cells };
}

interface IndexProps {
  readonly service: Service;
  readonly collection: ListedCollection;
}

/** The index that answers searches, and the one that is being built. */
function IndexOf({ service, collection: { name, index } }: IndexProps) {
  const path = `/v1/namespaces/${encodeURIComponent(name)}/index`;
  const [isBuilding, setBuilding] = useState(false);
  const state = useLoaded(
    async (signal) => {
      await service.untilSpare(signal);
      const now = await service.call<IndexState>('GET', path, undefined, signal);
      setBuilding(now.status === 'building');
      return now;
    },
    [service, path, index],
    service.poll(isBuilding ? BUILDING_EVERY_MS : INDEX_EVERY_MS),
  ).value;
  const segments = state?.segments ?? 1;
  const serves = index === 'brute' ? 'none (exact)' : segments > 1 ? `${index}, ${segments} segments` : index;
  if (state?.status === 'building')
    return (
      <>
        {serves}; building {state.desired_type ?? ''}{' '}
        <Bar share={state.build_progress ?? 0} label={`Building ${state.desired_type ?? 'the index'} of ${name}`} />
      </>
    );
  return (
    <>
      {serves}
      {state?.status === 'failed' && <span class="badge bad">{state.error ?? 'the last build failed'}</span>}
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
  const [index, setIndex] = useState<Kind>('auto');
  const [normalise, setNormalise] = useState(false);
  const [language, setLanguage] = useState('');
  const [life, setLife] = useState('');
  const [erasable, setErasable] = useState(false);
  const text = language === '' ? null : { language };
  const chosen = { normalise, text, ttl_secs: life === '' ? null : Number(life), erasable, index };
  const wanted = { name, dimension: Number(dimension), metric: 'squared_l2', ...chosen };
  const { problem, isRunning, start } = useAction(() => service.call('POST', '/v1/namespaces', wanted), onDone);
  return (
    <Dialog title="New collection" onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <Field label="Name" hint="1 to 64 letters A-Z and a-z, digits, _ and -.">
          <input
            value={name}
            required
            pattern="[A-Za-z0-9_\-]{1,64}"
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </Field>
        <Field label="Dimension" hint="How many numbers each vector has. It cannot be changed later.">
          <input
            type="number"
            min={1}
            max={32_768}
            value={dimension}
            required
            onInput={(event) => setDimension(event.currentTarget.value)}
          />
        </Field>
        <Field label="Distance" hint="Cosine divides vectors and queries by their length. It cannot be changed later.">
          <select
            value={normalise ? 'cosine' : 'euclidean'}
            onChange={(event) => setNormalise(event.currentTarget.value === 'cosine')}
          >
            <option value="euclidean">squared Euclidean distance of the vectors as they are</option>
            <option value="cosine">cosine, as most models of texts need</option>
          </select>
        </Field>
        <Field label="Words of texts" hint="How texts and queries are compared. It cannot be changed later.">
          <select value={language} onChange={(event) => setLanguage(event.currentTarget.value)}>
            <option value="">as they are written</option>
            {Object.entries(LANGUAGES).map(([name, shown]) => (
              <option key={name} value={name}>
                by their stems in {shown}
              </option>
            ))}
          </select>
        </Field>
        <Life value={life} onInput={setLife} />
        <Erasure value={erasable} onChange={setErasable} />
        <Field label="Index">
          <select value={index} onChange={(event) => setIndex(event.currentTarget.value as Kind)}>
            <Options of={Object.keys(KINDS) as Kind[]} />
          </select>
        </Field>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning} does="Create collection" onCancel={onDone} />
      </form>
    </Dialog>
  );
}

const Life = ({ value, onInput }: { readonly value: string; readonly onInput: (typed: string) => void }) => (
  <Field
    label="Life of records"
    hint="In seconds, after which new records without expires_at expire. Empty: they stay. It cannot be changed later."
  >
    <input type="number" min={1} value={value} onInput={(event) => onInput(event.currentTarget.value)} />
  </Field>
);

const Erasure = ({ value, onChange }: { readonly value: boolean; readonly onChange: (chosen: boolean) => void }) => (
  <Field label="Erasure" hint="A shred of its key erases a record, from the past too. It cannot be changed later.">
    <select value={value ? 'keys' : 'none'} onChange={(event) => onChange(event.currentTarget.value === 'keys')}>
      <option value="none">records are under a key if their insert gives one</option>
      <option value="keys">every record is under a key, by default a fresh one</option>
    </select>
  </Field>
);

const Options = ({ of: kinds }: { readonly of: readonly Kind[] }) => (
  <>
    {kinds.map((kind) => (
      <option key={kind} value={kind}>
        {KINDS[kind]}
      </option>
    ))}
  </>
);

function ChooseIndex({ service, collection, onDone }: AskProps & { readonly collection: ListedCollection }) {
  const [type, setType] = useState<Kind>(collection.index === 'brute' ? 'hnsw' : collection.index);
  const path = `/v1/namespaces/${encodeURIComponent(collection.name)}/index`;
  const wanted = { type: type === 'brute' ? null : type };
  const { problem, isRunning, start } = useAction(() => service.call('POST', path, wanted), onDone);
  return (
    <Dialog title={`Index of ${collection.name}`} onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <Field label="Kind of index" hint="Searches are answered as before until the new index is complete.">
          <select value={type} onChange={(event) => setType(event.currentTarget.value as Kind)}>
            <Options of={(Object.keys(KINDS) as Kind[]).filter((kind) => kind !== 'auto')} />
          </select>
        </Field>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning} does={type === 'brute' ? 'Remove index' : 'Build index'} onCancel={onDone} />
      </form>
    </Dialog>
  );
}

function Drop({ service, collection: { name }, onDone }: AskProps & { readonly collection: ListedCollection }) {
  const [typed, setTyped] = useState('');
  const path = `/v1/namespaces/${encodeURIComponent(name)}`;
  const { problem, isRunning, start } = useAction(() => service.call('DELETE', path), onDone);
  return (
    <Dialog title={`Delete ${name}`} onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <p>This deletes the collection with all its records, its index and its log. It cannot be undone.</p>
        <Field label="Type the name of the collection">
          <input value={typed} required onInput={(event) => setTyped(event.currentTarget.value)} />
        </Field>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning || typed !== name} does="Delete collection" isGrave onCancel={onDone} />
      </form>
    </Dialog>
  );
}
