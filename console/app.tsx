/** The frame of all screens: who is signed in, which screen, which collection. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ListCollectionsResponse, ListedCollection } from '../coordinator/contract/collections.js';
import { type Loaded, useLoaded } from './loading.js';
import { Problem, Waiting } from './parts/basics.js';
import { addressOf, go, type Place, SCREENS, type Screen, usePlace } from './place.js';
import { Audit } from './screens/audit.js';
import { Cluster } from './screens/cluster.js';
import { Collections } from './screens/collections.js';
import { Keys } from './screens/keys.js';
import { RecordMap } from './screens/map.js';
import { Records } from './screens/records.js';
import { Search } from './screens/search.js';
import { SignIn } from './screens/signIn.js';
import { Service } from './service.js';

export const TITLES: Readonly<Record<Screen, string>> = {
  collections: 'Collections',
  records: 'Records',
  search: 'Search',
  map: 'Map',
  audit: 'Audit',
  cluster: 'Cluster',
  keys: 'Keys',
};
/** Screens of one collection. */
const OF_COLLECTION: readonly Screen[] = ['records', 'search', 'map', 'audit'];
/** Screens that need the scope admin. */
const OF_ADMINS: readonly Screen[] = ['cluster', 'keys'];
const LISTED_EVERY_MS = 10_000;

export function App() {
  const [generation, setGeneration] = useState(0);
  const [waiting, setWaiting] = useState(0);
  const change = (): void => setGeneration((count) => count + 1);
  const service = useMemo(() => Service.remembered({ onSignedOut: change, onWaiting: setWaiting }), [generation]);
  if (service === undefined) return <SignIn onSignedIn={change} />;
  return <Signed service={service} waiting={waiting} />;
}

interface SignedProps {
  readonly service: Service;
  readonly waiting: number;
}

function Signed({ service, waiting }: SignedProps) {
  const place = usePlace();
  const list = useLoaded(
    (signal) => service.call<ListCollectionsResponse>('GET', '/v1/namespaces', undefined, signal),
    [service],
    service.poll(LISTED_EVERY_MS),
  );
  const collections = list.value?.collections ?? [];
  const chosen = place.collection === '' ? collections[0] : collections.find(({ name }) => name === place.collection);
  const needsOne = OF_COLLECTION.includes(place.screen);
  return (
    <>
      <header class="top">
        <strong class="brand">Vouch</strong>
        <nav aria-label="Screens">
          {SCREENS.filter((screen) => service.isAdmin || !OF_ADMINS.includes(screen)).map((screen) => (
            <a
              key={screen}
              href={addressOf({ screen, collection: OF_COLLECTION.includes(screen) ? place.collection : '' })}
              aria-current={screen === place.screen ? 'page' : undefined}
            >
              {TITLES[screen]}
            </a>
          ))}
        </nav>
        {needsOne && collections.length > 0 && (
          <select
            aria-label="Collection"
            value={chosen?.name ?? ''}
            onChange={(event) => go({ screen: place.screen, collection: event.currentTarget.value })}
          >
            {chosen === undefined && <option value="">choose a collection</option>}
            {collections.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
        <span class="quiet who">
          project {service.project}, {service.scope}
        </span>
        <button type="button" class="plain" onClick={() => service.signOut()}>
          Sign out
        </button>
      </header>
      <main>
        <Waiting requests={waiting} />
        <h1>{TITLES[place.screen]}</h1>
        {list.error !== undefined && <Problem>{list.error}</Problem>}
        <ScreenOf place={place} service={service} list={list} chosen={chosen} />
      </main>
    </>
  );
}

interface ScreenProps {
  readonly place: Place;
  readonly service: Service;
  readonly list: Loaded<ListCollectionsResponse>;
  readonly chosen: ListedCollection | undefined;
}

const NOTHING_FOUND: Found = { collection: '', ids: [] };

/** The hits of the last search. */
interface Found {
  readonly collection: string;
  readonly ids: readonly number[];
}

function ScreenOf({ place, service, list, chosen }: ScreenProps) {
  const [found, setFound] = useState(NOTHING_FOUND);
  if (OF_ADMINS.includes(place.screen) && !service.isAdmin)
    return (
      <p>
        This screen needs a key with the scope admin. Your key has the scope {service.scope}. Sign out, and sign in with
        an admin key: <code>npm run keys -- create --project {service.project} --scope admin</code> makes one, or with
        the package <code>vouch keys create --project {service.project} --scope admin</code>.
      </p>
    );
  switch (place.screen) {
    case 'collections':
      return <Collections service={service} list={list} />;
    case 'cluster':
      return <Cluster service={service} />;
    case 'keys':
      return <Keys service={service} />;
    default:
  }
  if (chosen === undefined) return <NotChosen key={place.collection} place={place} service={service} list={list} />;
  const { name } = chosen;
  // With another collection a screen starts again.
  switch (place.screen) {
    case 'records':
      return <Records key={name} service={service} collection={name} record={place.record} />;
    case 'search':
      return (
        <Search
          key={`${name}/${place.record}`}
          service={service}
          collection={chosen}
          record={place.record}
          onFound={(ids) => setFound({ collection: name, ids })}
        />
      );
    case 'map': {
      const lit = found.collection === name ? found : NOTHING_FOUND;
      return <RecordMap key={name} service={service} collection={chosen} lit={lit.ids} />;
    }
    case 'audit':
      return <Audit key={name} service={service} collection={name} />;
  }
}

/**
 * Shown in place of a screen of a collection that is not listed. The collection may be newer than the list, which is loaded again. The
 * name may be an alias: then the screen of its collection is opened.
 */
function NotChosen({ place, service, list }: Omit<ScreenProps, 'chosen'>) {
  const { collection: name } = place;
  const isListed = list.value !== undefined;
  const meant = useLoaded(
    async (signal) => {
      if (name === '') return undefined;
      const path = `/v1/namespaces/${encodeURIComponent(name)}`;
      return (await service.call<ListedCollection>('GET', path, undefined, signal)).name;
    },
    [service, name],
  );
  useEffect(() => {
    if (meant.value !== undefined && meant.value !== name)
      location.replace(addressOf({ ...place, collection: meant.value }));
  }, [meant.value]);
  useEffect(() => {
    if (isListed && name !== '') list.reload();
  }, [isListed, name]);
  if (!isListed || list.isLoading || meant.isLoading) return <p class="quiet">Loading …</p>;
  if (list.value?.collections.length === 0)
    return (
      <p>
        This project has no collection yet. Create one on the screen{' '}
        <a href={addressOf({ screen: 'collections' })}>Collections</a>.
      </p>
    );
  return (
    <p>
      This project has no collection named {name}.{' '}
      <a href={addressOf({ screen: 'collections' })}>Show all collections</a>
    </p>
  );
}
