/** `npm run export`: a collection's log into a file, to keep, to verify offline, or to restore elsewhere. */
import { loadConfigOrExit } from '../config/load.js';
import { EXPORT_USAGE, parseExport } from './backup/request.js';
import { takeExport } from './backup/takeExport.js';
import { ServiceClient } from './service/serviceClient.js';
import { findTarget } from './service/target.js';
import { runCommand } from './terminal/commandLine.js';

await runCommand({ name: 'export', usage: EXPORT_USAGE }, async (args) => {
  const request = parseExport(args);
  const client = new ServiceClient(await findTarget(request, loadConfigOrExit(process.env)));
  await takeExport(client, request.collection, request.file);
});
