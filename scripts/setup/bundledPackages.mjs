/** The packages whose code is in a bundle, for the bill of materials. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes `dist/.packages-<bundle>.json`: the folders of the packages, such as `node_modules/nats`. */
export function recordPackages(dist, bundle, { inputs }) {
  const folders = Object.keys(inputs).map((path) => path.match(/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0]);
  const packages = [...new Set(folders)].filter(Boolean).sort();
  writeFileSync(join(dist, `.packages-${bundle}.json`), JSON.stringify(packages));
}
