/** `npm run export`: a collection's log into a file, to keep, to verify offline, or to restore elsewhere. */
import { loadConfigOrExit } from '../config/load.js';
import { BackupClient } from './backup/backupClient.js';
import { EXPORT_USAGE, parseExport } from './backup/request.js';
import { takeExport } from './backup/takeExport.js';
import { findTarget } from './backup/target.js';
import { runCommand } from './terminal/commandLine.js';

await runCommand({ name: 'export', usage: EXPORT_USAGE }, async (args) => {
  const request = parseExport(args);
  const client = new BackupClient(await findTarget(request, loadConfigOrExit(process.env)));
  await takeExport(client, request.collection, request.file);
});
