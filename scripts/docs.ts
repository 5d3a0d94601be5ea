/** `npm run docs`: writes the pages that are made from the code, and the types of the client package. */
import { fileURLToPath } from 'node:url';
import { replaceFile } from '../shared/files/durable.js';
import { clientTypes } from './docs/clientTypes.js';
import { dashboard } from './docs/dashboard.js';
import { metricsPage } from './docs/metricsPage.js';
import { parseFlags, runCommand } from './terminal/commandLine.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

const USAGE = `npm run docs

Writes docs/operations/metrics.md, config/dashboard.json and the types in client/contract from the code.`;

await runCommand({ name: 'docs', usage: USAGE }, async (args) => {
  parseFlags({ args: [...args], options: {} });
  await replaceFile(`${root}docs/operations/metrics.md`, metricsPage());
  await replaceFile(`${root}config/dashboard.json`, dashboard());
  for (const [name, text] of clientTypes(root)) await replaceFile(`${root}client/contract/${name}`, text);
});
