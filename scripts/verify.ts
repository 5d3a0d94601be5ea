/**
 * `npm run verify`: checks receipts, proofs, checkpoints and whole logs offline, by the code in `verifier/`. The usage lists its
 * exit codes.
 */

import { runCommand } from './terminal/commandLine.js';
import { printable } from './terminal/line.js';
import { checkAccess } from './verify/access.js';
import { checkErasures } from './verify/erasures.js';
import { checkExportFile, checkFolder, checkStream } from './verify/logs.js';
import { exitCodeOf, type Verdict } from './verify/print.js';
import { checkCheckpoint, checkConsistency, checkInclusion, checkReceipt } from './verify/proofs.js';
import { parseVerifyRequest, VERIFY_USAGE, type VerifyRequest } from './verify/request.js';

const EXIT_UNCHECKED = 2;

function check(request: VerifyRequest): Promise<Verdict> {
  switch (request.command) {
    case 'receipt':
      return checkReceipt(request);
    case 'inclusion':
      return checkInclusion(request);
    case 'consistency':
      return checkConsistency(request);
    case 'checkpoint':
      return checkCheckpoint(request);
    case 'erasure':
      return checkErasures(request);
    case 'access':
      return checkAccess(request);
    case 'log':
      return checkExportFile(request);
    case 'folder':
      return checkFolder(request);
    case 'stream':
      return checkStream(request);
  }
}

await runCommand({ name: 'verify', usage: VERIFY_USAGE, exitFailed: EXIT_UNCHECKED }, async (args) => {
  try {
    process.exitCode = exitCodeOf(await check(parseVerifyRequest(args, process.stdin.isTTY)));
  } catch (error) {
    // The message may quote a catalog or a file from an unknown author.
    if (error instanceof Error) error.message = printable(error.message);
    throw error;
  }
});
