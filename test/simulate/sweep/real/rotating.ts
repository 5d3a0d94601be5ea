/** Program that replaces the master key of a data folder when its parent orders it. */
import { join } from 'node:path';
import { rotateMaster } from '../../../../scripts/keys/rotateMaster.js';
import { systemEntropy } from '../../../../shared/clock.js';
import { openFolderVault } from '../../../../shared/platform/standalonePlatform.js';

/** Message of the parent. */
export type Order = 'rotate';

const dataDir = process.argv[2]!;
const options = { entropy: systemEntropy, onProgress: () => undefined, prepareOnly: false, forgetDamaged: false };

process.once('message', async () => {
  const vault = await openFolderVault(dataDir);
  await rotateMaster({ ...options, vault, masterKeyFile: join(dataDir, 'master.key') });
  process.exit();
});
process.send!('ready');
