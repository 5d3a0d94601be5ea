/** The aliases of the project: other names of collections, which are created, moved and deleted here. */
import { useState } from 'preact/hooks';
import type { Alias, ListAliasesResponse } from '../../coordinator/contract/collections.js';
import { useLoaded } from '../loading.js';
import { useAction } from '../parts/action.js';
import { Buttons, Dialog, Field, onSubmit, Problem, Shown } from '../parts/basics.js';
import { Table } from '../parts/table.js';
import { addressOf } from '../place.js';
import type { Service } from '../service.js';

interface Props {
  readonly service: Service;
  /** The names of the collections. */
  readonly collections: readonly string[];
}

type Asked = { readonly kind: 'create' } | { readonly kind: 'move' | 'drop'; readonly alias: Alias };

const pathOf = (alias: string): string => `/v1/aliases/${encodeURIComponent(alias)}`;

export function Aliases({ service, collections }: Props) {
  const [asked, setAsked] = useState<Asked>();
  const list = useLoaded(
    (signal) => service.call<ListAliasesResponse>('GET', '/v1/aliases', undefined, signal),
    [service],
  );
  const done = (): void => {
    setAsked(undefined);
    list.reload();
  };
  return (
    <section aria-label="Aliases">
      <h2>Aliases</h2>
      <p class="row">
        {service.mayWrite && (
          <button type="button" onClick={() => setAsked({ kind: 'create' })}>
            New alias
          </button>
        )}
        <span class="quiet">An alias is another name of a collection, which can be moved to another collection.</span>
      </p>
      <Shown of={list}>
        {({ aliases }) =>
          aliases.length > 0 && (
            <Table
              label="Aliases"
              titles={service.mayWrite ? ['Alias', 'Collection', 'Actions'] : ['Alias', 'Collection']}
              plain={['Actions']}
              rows={aliases.map((alias) => rowOf(service, alias, setAsked))}
            />
          )
        }
      </Shown>
      {(asked?.kind === 'create' || asked?.kind === 'move') && (
        <Put
          service={service}
          collections={collections}
          moved={asked.kind === 'move' ? asked.alias : undefined}
          onDone={done}
        />
      )}
      {asked?.kind === 'drop' && <Drop service={service} alias={asked.alias} onDone={done} />}
    </section>
  );
}

function rowOf(service: Service, alias: Alias, onAsk: (asked: Asked) => void) {
  const actions = (
    <span class="actions">
      <button type="button" class="plain" onClick={() => onAsk({ kind: 'move', alias })}>
        Move …
      </button>
      <button type="button" class="plain" onClick={() => onAsk({ kind: 'drop', alias })}>
        Delete …
      </button>
    </span>
  );
  const collection = <a href={addressOf({ screen: 'records', collection: alias.collection })}>{alias.collection}</a>;
  const cells = [alias.alias, collection];
  return { key: alias.alias, cells: service.mayWrite ? [...cells, actions] : cells };
}

interface PutProps extends Props {
  /** Undefined: a new alias. */
  readonly moved: Alias | undefined;
  readonly onDone: () => void;
}

function Put({ service, collections, moved, onDone }: PutProps) {
  const [name, setName] = useState(moved?.alias ?? '');
  const [collection, setCollection] = useState(moved?.collection ?? collections[0] ?? '');
  const { problem, isRunning, start } = useAction(() => service.call('PUT', pathOf(name), { collection }), onDone);
  return (
    <Dialog title={moved === undefined ? 'New alias' : `Move ${moved.alias}`} onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        {moved === undefined && (
          <Field label="Alias" hint="1 to 64 letters A-Z and a-z, digits, _ and -. No collection has this name.">
            <input
              value={name}
              required
              pattern="[A-Za-z0-9_\-]{1,64}"
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </Field>
        )}
        <Field label="Collection" hint="From now on, requests that name the alias use this collection.">
          <select value={collection} onChange={(event) => setCollection(event.currentTarget.value)}>
            {collections.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </Field>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning} does={moved === undefined ? 'Create alias' : 'Move alias'} onCancel={onDone} />
      </form>
    </Dialog>
  );
}

interface DropProps {
  readonly service: Service;
  readonly alias: Alias;
  readonly onDone: () => void;
}

function Drop({ service, alias: { alias, collection }, onDone }: DropProps) {
  const { problem, isRunning, start } = useAction(() => service.call('DELETE', pathOf(alias)), onDone);
  return (
    <Dialog title={`Delete ${alias}`} onClose={onDone}>
      <form onSubmit={onSubmit(start)}>
        <p>This deletes the alias. The collection {collection} stays; requests that name the alias are refused.</p>
        {problem !== undefined && <Problem>{problem}</Problem>}
        <Buttons isRunning={isRunning} does="Delete alias" isGrave onCancel={onDone} />
      </form>
    </Dialog>
  );
}
