/**
 * `npm run verify`: checks receipts, proofs, checkpoints and whole logs offline, with code that shares nothing with the
 * service but BLAKE3. Ends with 0 where all holds, 1 where something does not, 2 where it could not be checked.
 */

import { runCommand } from './terminal/commandLine.js';
import { checkExportFile, checkFolder, checkStream } from './verifier/command/logs.js';
import { printable } from './verifier/command/print.js';
import { checkCheckpoint, checkConsistency, checkInclusion } from './verifier/command/proofs.js';
import { checkReceipt } from './verifier/command/receipts.js';
import { parseRequest, type Request, USAGE } from './verifier/command/request.js';

const EXIT_REFUSED = 1;
const EXIT_UNCHECKED = 2;

function check(request: Request): Promise<boolean> {
  switch (request.command) {
    case 'receipt':
      return checkReceipt(request);
    case 'inclusion':
      return checkInclusion(request);
    case 'consistency':
      return checkConsistency(request);
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
  try {
    process.exitCode = (await check(parseRequest(args, process.stdin.isTTY))) ? 0 : EXIT_REFUSED;
  } catch (error) {
    // It may name what stands in a catalog or a file, which anybody may have written.
    if (error instanceof Error) error.message = printable(error.message);
    throw error;
  }
});
