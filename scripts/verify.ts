/**
 * `npm run verify`: checks receipts, proofs, checkpoints and whole logs offline, with code that shares nothing with the
 * service but BLAKE3. Ends with 0 where all holds, 1 where something does not, 2 where it could not be checked.
 */

import { say } from './terminal/line.js';
import { checkExportFile, checkFolder, checkStream } from './verifier/command/logs.js';
import { checkCheckpoint, checkConsistency, checkInclusion, checkReceipt } from './verifier/command/proofs.js';
import { parseRequest, type Request, USAGE } from './verifier/command/request.js';
import { UsageError } from './verifier/source/catalog.js';

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

try {
  process.exitCode = (await check(parseRequest(process.argv.slice(2)))) ? 0 : EXIT_REFUSED;
} catch (error) {
  say('failed', 'verify', (error as Error).message);
  if (error instanceof UsageError) process.stderr.write(`\n${USAGE}\n`);
  process.exitCode = EXIT_UNCHECKED;
}
