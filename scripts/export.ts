/** `npm run export`: a collection's log into a file, to keep, to verify offline, or to restore elsewhere. */
import { BackupClient } from './backup/backupClient.js';
import { EXPORT_USAGE, parseExport } from './backup/request.js';
import { runCommand } from './backup/runCommand.js';
import { takeExport } from './backup/takeExport.js';
import { findTarget } from './backup/target.js';

await runCommand('export', EXPORT_USAGE, async (config) => {
  const request = parseExport(process.argv.slice(2));
  const client = new BackupClient(await findTarget(request, config));
  await takeExport(client, request.collection, request.file);
});
