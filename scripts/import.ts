/** `npm run import`: restores a collection from an export, on this service or another, with the same hashes. */
import { loadConfigOrExit } from '../config/load.js';
import { IMPORT_USAGE, parseImport } from './backup/request.js';
import { sendExport } from './backup/sendExport.js';
import { ServiceClient } from './service/serviceClient.js';
import { findTarget } from './service/target.js';
import { runCommand } from './terminal/commandLine.js';

await runCommand({ name: 'import', usage: IMPORT_USAGE }, async (args) => {
  const request = parseImport(args);
  const client = new ServiceClient(await findTarget(request, loadConfigOrExit(process.env)));
  await sendExport(client, request.file, request.collection);
});
