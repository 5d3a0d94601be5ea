/** The shown screen and collection, kept in the part of the address behind `#`. */
import { useLayoutEffect, useState } from 'preact/hooks';

export const SCREENS = ['collections', 'records', 'search', 'map', 'audit', 'cluster', 'keys'] as const;
export type Screen = (typeof SCREENS)[number];

export interface Place {
  readonly screen: Screen;
  /** Empty: none is chosen. */
  readonly collection: string;
  /** The id of the shown record; undefined: the screen shows none. */
  readonly record: number | undefined;
}

/** `#records/docs/7`. Anything else is the list of collections. */
function placeIn(hash: string): Place {
  const [screen, collection = '', record = ''] = partsOf(hash);
  return {
    screen: SCREENS.find((known) => known === screen) ?? 'collections',
    collection,
    record: /^\d+$/.test(record) && Number.isSafeInteger(Number(record)) ? Number(record) : undefined,
  };
}

/** Empty if a part is not percent-encoded UTF-8, as in no address of the console. */
function partsOf(hash: string): string[] {
  try {
    return hash.replace(/^#/, '').split('/').map(decodeURIComponent);
  } catch {
    return [];
  }
}

export function addressOf({ screen, collection = '', record }: Partial<Place> & Pick<Place, 'screen'>): string {
  const parts = [screen, ...(collection === '' ? [] : [collection]), ...(record === undefined ? [] : [String(record)])];
  return `#${parts.map(encodeURIComponent).join('/')}`;
}

export const go = (place: Parameters<typeof addressOf>[0]): void => {
  location.hash = addressOf(place);
};

export function usePlace(): Place {
  const [place, setPlace] = useState(() => placeIn(location.hash));
  // In the task of the first rendering, so that no change of the address comes before the listener.
  useLayoutEffect(() => {
    const onChange = (): void => setPlace(placeIn(location.hash));
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return place;
}
