import type { VersionVisibility } from '../../../shard/state/versionVisibility.js';

/** All version numbers, as `restore` takes them. */
export const savedNumbers = (versions: VersionVisibility): Float64Array[] =>
  versions.save().map(({ pieces }) => Float64Array.from([...pieces].flatMap((piece) => [...piece])));
