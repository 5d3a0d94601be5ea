/** `npm run sbom`: prints the parts of the service as a CycloneDX document, or their licences as a table. */
import { fileURLToPath } from 'node:url';
import { findNatsServer } from './local/natsServer/find.js';
import { billOfMaterials } from './sbom/bill.js';
import { licenceLines } from './sbom/licences.js';
import { parseFlags, runCommand } from './terminal/commandLine.js';
import { say } from './terminal/line.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const USAGE = `npm run sbom --silent [-- --licences]

  --licences  a table of the licences, and what is under each, instead of the document`;

await runCommand({ name: 'sbom', usage: USAGE }, async (args) => {
  const { licences } = parseFlags({ args: [...args], options: { licences: { type: 'boolean' } } }).values;
  const onFetch = (from: string): void => say('plain', 'nats-server', `fetching it (${from})`);
  const bill = await billOfMaterials(ROOT, await findNatsServer({ onFetch }));
  process.stdout.write(licences ? `${licenceLines(bill).join('\n')}\n` : `${JSON.stringify(bill, null, 2)}\n`);
});
