/**
 * `npm run verify -- <file>`: checks a receipt offline, from its own bytes, with code that shares nothing with the
 * service but BLAKE3. The file holds a receipt, or the answer of an insert with the receipt in it; without a file it is
 * read from standard input.
 */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { messageOf } from '../shared/errors.js';
import { say } from './terminal/line.js';
import { verifyReceipt, type WriteReceipt } from './verifier/receipt.js';

async function readReceipt(file: string | undefined): Promise<WriteReceipt> {
  const json: unknown = JSON.parse(file === undefined ? await text(process.stdin) : await readFile(file, 'utf8'));
  const receipt = (json as { receipt?: unknown } | null)?.receipt ?? json;
  if (typeof (receipt as { proof?: unknown } | null)?.proof !== 'string') throw new Error('there is no receipt in it');
  return receipt as WriteReceipt;
}

try {
  const receipt = await readReceipt(process.argv[2]);
  const problems = verifyReceipt(receipt);
  for (const problem of problems) say('failed', 'receipt', problem);
  if (problems.length === 0)
    say(
      'done',
      'receipt',
      `holds: write ${receipt.sequence}, record ${receipt.record_id}, state ${receipt.state_hash}`,
    );
  process.exitCode = problems.length === 0 ? 0 : 1;
} catch (error) {
  say('failed', 'receipt', `cannot be read: ${messageOf(error)}`);
  process.exitCode = 2;
}
