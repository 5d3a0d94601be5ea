/**
 * Audits an exported log, without the service: `node audit.mjs ledger.vouchlog [KEY [ANSWER]]`. KEY is the public key of the
 * service; ANSWER names a file with the answer of an insert.
 */
import { readFile } from 'node:fs/promises';
import { ProofError, verifyExport } from '@vouch/client';

process.once('uncaughtException', ({ message }) => console.error(message) ?? process.exit(1));

const [path = 'ledger.vouchlog', publicKey, answerPath] = process.argv.slice(2);
const receipts = answerPath === undefined ? [] : [receiptIn(JSON.parse(await readFile(answerPath, 'utf8')))];
try {
  const found = await verifyExport(await readFile(path), { ...(publicKey && { publicKey }), receipts });
  console.log(`${found.project}/${found.collection}: ${found.events} events, ${found.records} records`);
  console.log(`every hash and every rule holds; state ${found.stateHash}`);
  console.log(publicKey ? 'signed with the given key' : `signed with the key ${found.publicKey}, not checked`);
  if (receipts.length > 0) console.log('the receipt is of a write in this log');
} catch (error) {
  if (!(error instanceof ProofError)) throw error;
  console.log(`refused: ${error.message}`);
  process.exitCode = 1;
}

/** The receipt of an answer of the API, in the spelling of the package. */
function receiptIn({ receipt }) {
  const { record_id, old_root, new_root, state_hash, ...same } = receipt;
  return { recordId: record_id, oldRoot: old_root, newRoot: new_root, stateHash: state_hash, ...same };
}
