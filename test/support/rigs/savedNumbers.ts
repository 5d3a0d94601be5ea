import type { VersionVisibility } from '../../../shard/state/versionVisibility.js';

/** All that versions know, as `restore` takes it. */
export const savedNumbers = (versions: VersionVisibility): Float64Array[] =>
  versions.save().map(({ pieces }) => Float64Array.from([...pieces].flatMap((piece) => [...piece])));
