/** The frame of all screens: who is signed in, which screen, which collection. */
import { useMemo, useState } from 'preact/hooks';
import type { ListCollectionsResponse, ListedCollection } from '../coordinator/contract/collections.js';
import { type Loaded, useLoaded } from './loading.js';
import { Problem } from './parts/basics.js';
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
/** Those that are about one collection. */
const OF_COLLECTION: readonly Screen[] = ['records', 'search', 'map', 'audit'];
const LISTED_EVERY_MS = 5_000;

export function App() {
  const [generation, setGeneration] = useState(0);
  const service = useMemo(() => Service.remembered(() => setGeneration((count) => count + 1)), [generation]);
  if (service === undefined) return <SignIn onSignedIn={() => setGeneration((count) => count + 1)} />;
  return <Signed service={service} />;
}

function Signed({ service }: { readonly service: Service }) {
  const place = usePlace();
  const list = useLoaded(
    (signal) => service.call<ListCollectionsResponse>('GET', '/v1/namespaces', undefined, signal),
    [service],
    LISTED_EVERY_MS,
  );
  const collections = list.value?.collections ?? [];
  const chosen = collections.find(({ name }) => name === place.collection) ?? collections[0];
  const needsOne = OF_COLLECTION.includes(place.screen);
  return (
    <>
      <header class="top">
        <strong class="brand">Vouch</strong>
        <nav aria-label="Screens">
          {SCREENS.map((screen) => (
            <a
              key={screen}
              href={addressOf({ screen, collection: OF_COLLECTION.includes(screen) ? place.collection : '' })}
              aria-current={screen === place.screen ? 'page' : undefined}
            >
              {TITLES[screen]}
            </a>
          ))}
        </nav>
        {needsOne && chosen !== undefined && (
          <select
            aria-label="Collection"
            value={chosen.name}
            onChange={(event) => go({ screen: place.screen, collection: event.currentTarget.value })}
          >
            {collections.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
        <button type="button" class="plain" onClick={() => service.signOut()}>
          Sign out
        </button>
      </header>
      <main>
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
  switch (place.screen) {
    case 'collections':
      return <Collections service={service} list={list} />;
    case 'cluster':
      return <Cluster service={service} />;
    case 'keys':
      return <Keys service={service} />;
    default:
  }
  if (chosen === undefined) return list.value === undefined ? null : <p class="quiet">There is no collection yet.</p>;
  const { name } = chosen;
  // With another collection a screen begins anew.
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
