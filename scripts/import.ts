/** `npm run import`: restores a collection from an export, on this service or another, with the same hashes. */
import { BackupClient } from './backup/backupClient.js';
import { IMPORT_USAGE, parseImport } from './backup/request.js';
import { runCommand } from './backup/runCommand.js';
import { sendExport } from './backup/sendExport.js';
import { findTarget } from './backup/target.js';

await runCommand('import', IMPORT_USAGE, async (config) => {
  const request = parseImport(process.argv.slice(2));
  const client = new BackupClient(await findTarget(request, config));
  await sendExport(client, request.file, request.collection);
});
