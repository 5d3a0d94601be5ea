/**
 * `npm run verify`: checks receipts, proofs, checkpoints and whole logs offline, with code that shares nothing with the
 * service but BLAKE3. Ends with 0 where all holds, 1 where something does not, 2 where it could not be checked.
 */

import { runCommand } from './terminal/commandLine.js';
import { checkExportFile, checkFolder, checkStream } from './verifier/command/logs.js';
import { checkCheckpoint, checkConsistency, checkInclusion, checkReceipt } from './verifier/command/proofs.js';
import { parseRequest, type Request, USAGE } from './verifier/command/request.js';

const EXIT_REFUSED = 1;
const EXIT_UNCHECKED = 2;

function check(request: Request): Promise<boolean> {
  switch (request.command) {
    case 'receipt':
      return checkReceipt(request);
    case 'inclusion':
      return checkInclusion(request as Request & { command: 'inclusion' });
    case 'consistency':
      return checkConsistency(request as Request & { command: 'consistency' });
    case 'checkpoint':
      return checkCheckpoint(request);
    case 'log':
      return checkExportFile(request);
    case 'folder':
      return checkFolder(request);
    case 'stream':
      return checkStream(request);
  }
}

await runCommand({ name: 'verify', usage: USAGE, exitFailed: EXIT_UNCHECKED }, async (args) => {
  process.exitCode = (await check(parseRequest(args, process.stdin.isTTY))) ? 0 : EXIT_REFUSED;
});
