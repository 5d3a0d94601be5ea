/** `npm run export`: a collection's log into a file, or its live records into a store of LangChain.js. */
import { loadConfigOrExit } from '../config/load.js';
import { EXPORT_USAGE, parseExport } from './backup/request.js';
import { takeExport } from './backup/takeExport.js';
import { writeStore } from './backup/writeStore.js';
import { ServiceClient } from './service/serviceClient.js';
import { findTarget } from './service/target.js';
import { runCommand } from './terminal/commandLine.js';

await runCommand({ name: 'export', usage: EXPORT_USAGE }, async (args) => {
  const { collection, target, ...service } = parseExport(args);
  const client = new ServiceClient(await findTarget(service, loadConfigOrExit(process.env)));
  const write = target.kind === 'log' ? takeExport : writeStore;
  await write(client, collection, target.path);
});
