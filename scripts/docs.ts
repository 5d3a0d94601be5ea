/** `npm run docs`: writes the pages that are generated from the code. */
import { fileURLToPath } from 'node:url';
import { replaceFile } from '../shared/files/durable.js';
import { dashboard } from './docs/dashboard.js';
import { errorsPage } from './docs/errorsPage.js';
import { metricsPage } from './docs/metricsPage.js';
import { parseFlags, runCommand } from './terminal/commandLine.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

const USAGE = `npm run docs

Writes docs/errors.md, docs/operations/metrics.md and config/dashboard.json from the code.`;

await runCommand({ name: 'docs', usage: USAGE }, async (args) => {
  parseFlags({ args: [...args], options: {} });
  await replaceFile(`${root}docs/errors.md`, errorsPage());
  await replaceFile(`${root}docs/operations/metrics.md`, metricsPage());
  await replaceFile(`${root}config/dashboard.json`, dashboard());
});
