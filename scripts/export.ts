/** `npm run export`: a collection's log or access log into a file, or its live records into a store of LangChain.js. */
import { loadConfigOrExit } from '../config/load.js';
import { EXPORT_USAGE, parseExport } from './backup/request.js';
import { takeAccess } from './backup/takeAccess.js';
import { takeExport } from './backup/takeExport.js';
import { writeStore } from './backup/writeStore.js';
import { ServiceClient } from './service/serviceClient.js';
import { findTarget } from './service/target.js';
import { runCommand } from './terminal/commandLine.js';

const WRITERS = { log: takeExport, access: takeAccess, hnswlib: writeStore } as const;

await runCommand({ name: 'export', usage: EXPORT_USAGE }, async (args) => {
  const { collection, target, ...service } = parseExport(args);
  const client = new ServiceClient(await findTarget(service, loadConfigOrExit(process.env)));
  await WRITERS[target.kind](client, collection, target.path);
});
