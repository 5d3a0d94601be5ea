/** Checks whole logs: an export, a node's folder, JetStream. */
import {
  Claims,
  checkExport,
  type FrameSource,
  type LogGenesis,
  type LogReport,
  type Reached,
  servedAs,
  stateBefore,
  verifyLog,
  watchReached,
} from '../../verifier/index.js';
import {
  type CatalogItem,
  choose,
  JetStreamCluster,
  LogFolder,
  openExport,
  readFolderCatalog,
  readFolderReached,
} from '../../verifier/node/index.js';
import { counted } from '../terminal/line.js';
import { showProgress } from '../terminal/progress.js';
import { certificatesIn } from './erasures.js';
import { assertNoOtherFile, callersPath, opened, readJson } from './files.js';
import { holdAsked, isSameName, type Named, printOtherName, titleOf } from './names.js';
import { loginFrom, withLoginAdvice } from './natsLogin.js';
import { instant, print, printAlteration, printLog, printRefusal, printSigner, type Verdict, worst } from './print.js';
import type { ClaimFiles, FileRequest, StreamRequest } from './request.js';

const MEBIBYTE = 1 << 20;
/** Logs of this size and above show progress; smaller ones take less than a second. */
const SHOWN_FROM_BYTES = 32 * MEBIBYTE;

export async function checkExportFile({ file, ...files }: FileRequest): Promise<Verdict> {
  await assertNoOtherFile('export', file);
  const source = await opened(file, openExport(callersPath(file)));
  try {
    const claims = await readClaims(files);
    const report = await replayed(source, claims);
    if (report.refusal !== undefined) return refused(report);
    const { problems, genesis, checkpoint } = checkExport(source, report, files.key);
    for (const problem of problems) print('failed', 'export', problem);
    if (problems.length > 0) return 'refused';
    printLog(report);
    if (files.keys) for (const keyId of report.records.openKeys) print('plain', 'needs key', keyId);
    const served = checkpoint && genesis && servedAs(checkpoint, genesis);
    if (served !== undefined) print('plain', '', served);
    const verdicts: Verdict[] = [];
    if (checkpoint !== undefined) {
      print('done', 'checkpoint', `${counted(checkpoint.size, 'event')}, signed ${instant(checkpoint.timeMs)}`);
      verdicts.push(printSigner(checkpoint.publicKey, files.key));
    }
    const names = genesis === undefined ? [] : [namesOf(genesis)];
    if (checkpoint !== undefined) names.unshift(checkpoint.origin);
    if (names[0] !== undefined) verdicts.push(holdAsked('log', names[0], files));
    return worst([...verdicts, printClaims(claims, { source, report, genesis }, names, files)]);
  } finally {
    await source.close();
  }
}

export async function checkFolder(request: FileRequest): Promise<Verdict> {
  await assertNoOtherFile('folder', request.file);
  const dataDir = callersPath(request.file);
  const chosen = choose(await readFolderCatalog(dataDir), request.collection, request.project);
  if (chosen.length === 0) throw new Error('found no collection');
  const verdicts: Verdict[] = [];
  for (const [index, item] of chosen.entries()) {
    if (index > 0) process.stdout.write('\n');
    // The watermark is read before the log, since the node may be writing.
    const reached = await readFolderReached(dataDir, item.id);
    const source = await LogFolder.open(dataDir, item.id);
    try {
      verdicts.push(await checkStored(source, item, reached, request));
      const torn = counted(source.tornBytes, 'byte');
      if (source.tornBytes > 0)
        print('warning', 'torn tail', `${torn} of a write that was never answered are left out`);
    } finally {
      await source.close();
    }
  }
  return worst(verdicts);
}

export async function checkStream(request: StreamRequest): Promise<Verdict> {
  const cluster = await JetStreamCluster.connect(request.nats, loginFrom(process.env)).catch((error: Error) => {
    throw withLoginAdvice(error, process.env);
  });
  try {
    const [item] = choose(await cluster.catalog(), request.collection, request.project);
    const reached = await cluster.reached(item!.id);
    const source = await cluster.openLog(item!.id);
    return await checkStored(source, item!, reached, request);
  } finally {
    await cluster.close();
  }
}

/** Checks a collection's log, and that it is of the collection that the catalog names. */
async function checkStored(
  source: FrameSource,
  { origin, ...item }: CatalogItem,
  reached: Reached | undefined,
  files: ClaimFiles,
): Promise<Verdict> {
  const claims = await readClaims(files);
  const wrongWith = reached && watchReached(reached, claims.watches);
  const report = await replayed(source, claims);
  const name = titleOf(item);
  if (report.refusal !== undefined) {
    print('failed', 'collection', name);
    return refused(report);
  }
  const { genesis } = report;
  const wrong = wrongWith?.(report);
  if (wrong !== undefined) {
    print('failed', 'collection', name);
    print('plain', '', wrong);
    return 'refused';
  }
  if (genesis === undefined) print('done', 'collection', name);
  else if (!isSameName(namesOf(genesis), origin)) {
    print('failed', 'collection', `the catalog has ${titleOf(origin)}`);
    print('plain', '', `the log is of ${titleOf(namesOf(genesis))}`);
    return 'refused';
  }
  printLog(report);
  if (!isSameName(item, origin)) print('warning', 'imported as', name);
  return printClaims(claims, { source, report, genesis }, [item, origin], files);
}

const namesOf = ({ project, name, collectionId: id }: LogGenesis): Named => ({ project, name, id });

async function readClaims({ receipts, checkpoints, erasures, key }: ClaimFiles): Promise<Claims> {
  const claims = new Claims();
  for (const file of receipts) claims.addReceipt(file, await readJson('receipt', file));
  for (const file of checkpoints) claims.addCheckpoint(file, await readJson('checkpoint', file), key);
  for (const file of erasures)
    for (const one of certificatesIn(await readJson('erasure', file))) claims.addErasure(file, one, key);
  return claims;
}

async function replayed(source: FrameSource, { watches, onEvent }: Claims): Promise<LogReport> {
  if (source.sizeBytes < SHOWN_FROM_BYTES) return verifyLog(source, { watches, onEvent });
  const progress = showProgress('replaying', Math.floor(source.sizeBytes / MEBIBYTE), ['MiB', 'MiB']);
  let doneBytes = 0;
  const onProgress = (bytes: number): void => {
    const shown = Math.floor(doneBytes / MEBIBYTE);
    doneBytes += bytes;
    const more = Math.floor(doneBytes / MEBIBYTE) - shown;
    if (more > 0) progress.advance(more);
  };
  let report: LogReport | undefined;
  try {
    report = await verifyLog(source, { watches, onEvent, onProgress });
    return report;
  } finally {
    if (report !== undefined && report.refusal === undefined) progress.finish();
    else progress.abandon();
  }
}

function refused(report: LogReport): Verdict {
  printRefusal(report, report.refusal!);
  return 'refused';
}

/** A log after its check. */
interface CheckedLog {
  readonly source: FrameSource;
  readonly report: LogReport;
  /** Undefined if the log has no valid genesis. */
  readonly genesis: LogGenesis | undefined;
}

/** `names`: the names of the log, first the one under which it is served. */
function printClaims(
  claims: Claims,
  { source, report, genesis }: CheckedLog,
  names: readonly Named[],
  { key }: ClaimFiles,
): Verdict {
  const before = genesis && { genesis, state: stateBefore(genesis) };
  const results = claims.results(report, before);
  const verdicts: Verdict[] = [];
  for (const { kind, name, about, problems, publicKey, origin } of results) {
    const isOther = origin !== undefined && !names.some((own) => isSameName(own, origin));
    if (problems.length === 0 && isOther)
      verdicts.push(printOtherName(kind, origin, `${titleOf(names[0]!)}, as the log has it (${name})`));
    else if (problems.length === 0) print('done', kind, `${about}: of this log (${name})`);
    else verdicts.push('refused');
    if (problems.length === 0 && publicKey !== undefined) verdicts.push(printSigner(publicKey, key));
    for (const problem of problems) print('failed', kind, `${about}: ${problem} (${name})`);
  }
  const alteration = claims.alteration();
  if (alteration !== undefined) printAlteration(alteration, source);
  return worst(verdicts);
}
