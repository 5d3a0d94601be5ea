/** Whole logs: an export, a node's folder, JetStream. Each answers whether all of it holds. */
import { showProgress } from '../../terminal/progress.js';
import { servedAs } from '../checkpoint.js';
import { Claims } from '../claims.js';
import type { Genesis } from '../events.js';
import { checkExport, stateBefore } from '../exportClaims.js';
import { type LogReport, verifyLog } from '../log.js';
import { type Reached, watchReached } from '../reached.js';
import { type CatalogItem, choose, readFolderCatalog, readFolderReached } from '../source/catalog.js';
import { ExportFile } from '../source/export.js';
import { LogFolder } from '../source/folder.js';
import { JetStreamCluster } from '../source/stream.js';
import type { FrameSource } from '../source.js';
import { callersPath, opened, readJson } from './files.js';
import { counted, instant, print, printAlteration, printLog, printRefusal, printSigner } from './print.js';
import type { ClaimFiles, Request } from './request.js';

const MEBIBYTE = 1 << 20;
/** What takes less than a second needs no progress. */
const SHOWN_FROM_BYTES = 32 * MEBIBYTE;

export async function checkExportFile({ file, ...files }: Request & { command: 'log' }): Promise<boolean> {
  const source = await opened(file, ExportFile.open(callersPath(file)));
  try {
    const claims = await readClaims(files);
    const report = await replayed(source, claims);
    if (report.refusal !== undefined) return refused(report);
    const { problems, genesis, checkpoint } = checkExport(source, report, files.key);
    for (const problem of problems) print('failed', 'export', problem);
    if (problems.length > 0) return false;
    printLog(report);
    const served = checkpoint && genesis && servedAs(checkpoint, genesis);
    if (served !== undefined) print('plain', '', served);
    if (checkpoint !== undefined) {
      print('done', 'checkpoint', `${checkpoint.size} events, signed ${instant(checkpoint.timeMs)}`);
      printSigner(checkpoint.publicKey, files.key);
    }
    return printClaims(claims, source, report, genesis, files);
  } finally {
    await source.close();
  }
}

export async function checkFolder(request: Request & { command: 'folder' }): Promise<boolean> {
  const dataDir = callersPath(request.dataDir);
  const chosen = choose(await readFolderCatalog(dataDir), request.collection, request.project);
  if (chosen.length === 0) throw new Error('there is no collection');
  let holds = true;
  for (const [index, item] of chosen.entries()) {
    if (index > 0) process.stdout.write('\n');
    // First what is noted, then the log: the node may be writing to it.
    const reached = await readFolderReached(dataDir, item.id);
    const source = await LogFolder.open(dataDir, item.id);
    try {
      holds = (await checkStored(source, item, reached, request)) && holds;
      if (source.tornBytes > 0)
        print(
          'warning',
          'torn tail',
          `${counted(source.tornBytes, 'byte')} of a write that was never answered are left out`,
        );
    } finally {
      await source.close();
    }
  }
  return holds;
}

export async function checkStream(request: Request & { command: 'stream' }): Promise<boolean> {
  const cluster = await JetStreamCluster.connect(request.nats);
  try {
    const [item] = choose(await cluster.catalog(), request.collection, request.project);
    const reached = await cluster.reached(item!.id);
    const source = await cluster.openLog(item!.id);
    return await checkStored(source, item!, reached, request);
  } finally {
    await cluster.close();
  }
}

/** The log of a collection that a catalog names: it must be that collection's. */
async function checkStored(
  source: FrameSource,
  { origin, ...item }: CatalogItem,
  reached: Reached | undefined,
  files: ClaimFiles,
): Promise<boolean> {
  const claims = await readClaims(files);
  const wrongWith = reached && watchReached(reached, claims.watches);
  const report = await replayed(source, claims);
  if (report.refusal !== undefined) {
    print('failed', 'collection', `${item.project}/${item.name}, id ${item.id}`);
    return refused(report);
  }
  const { genesis } = report;
  const wrong = wrongWith?.(report);
  if (wrong !== undefined) {
    print('failed', 'collection', `${item.project}/${item.name}, id ${item.id}`);
    print('plain', '', wrong);
    return false;
  }
  if (genesis === undefined) print('done', 'collection', `${item.project}/${item.name}, id ${item.id}`);
  else if (genesis.project !== origin.project || genesis.name !== origin.name || genesis.collectionId !== origin.id) {
    print('failed', 'collection', `the catalog has ${origin.project}/${origin.name}, id ${origin.id}`);
    print('plain', '', `the log is of ${genesis.project}/${genesis.name}, id ${genesis.collectionId}`);
    return false;
  }
  printLog(report);
  if (item.id !== origin.id || item.name !== origin.name || item.project !== origin.project)
    print('plain', 'imported as', `${item.project}/${item.name}, id ${item.id}`);
  return printClaims(claims, source, report, genesis, files);
}

async function readClaims({ receipts, checkpoints, key }: ClaimFiles): Promise<Claims> {
  const claims = new Claims();
  for (const file of receipts) claims.addReceipt(file, await readJson(file));
  for (const file of checkpoints) claims.addCheckpoint(file, await readJson(file), key);
  return claims;
}

async function replayed(source: FrameSource, { watches }: Claims): Promise<LogReport> {
  if (source.sizeBytes < SHOWN_FROM_BYTES) return verifyLog(source, { watches });
  const progress = showProgress('replaying', Math.floor(source.sizeBytes / MEBIBYTE), 'MiB');
  let doneBytes = 0;
  let shown = 0;
  const onProgress = (bytes: number): void => {
    doneBytes += bytes;
    const done = Math.floor(doneBytes / MEBIBYTE);
    if (done > shown) progress.advance(done - shown);
    shown = done;
  };
  try {
    const report = await verifyLog(source, { watches, onProgress });
    if (report.refusal === undefined) progress.finish();
    else progress.abandon();
    return report;
  } catch (error) {
    progress.abandon();
    throw error;
  }
}

function refused(report: LogReport): false {
  printRefusal(report, report.refusal!);
  return false;
}

function printClaims(
  claims: Claims,
  source: FrameSource,
  report: LogReport,
  genesis: Genesis | undefined,
  { key }: ClaimFiles,
): boolean {
  const before = genesis && { genesis, state: stateBefore(genesis) };
  const results = claims.results(report, before);
  for (const { kind, name, about, problems, publicKey } of results) {
    if (problems.length === 0) print('done', kind, `${about}: of this log (${name})`);
    if (problems.length === 0 && publicKey !== undefined) printSigner(publicKey, key);
    for (const problem of problems) print('failed', kind, `${about}: ${problem} (${name})`);
  }
  const alteration = claims.alteration();
  if (alteration !== undefined) printAlteration(alteration, source);
  return results.every(({ problems }) => problems.length === 0);
}
