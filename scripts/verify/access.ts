/** Checks access logs: a downloaded one (`GET /v1/access/log`), or all logs of the collections chosen in a node's folder. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import {
  type AccessHead,
  type AccessReport,
  accessHeadIn,
  copiedFrames,
  Refused,
  SourceRefused,
  verifyAccessLog,
  verifyLoggedAccess,
} from '../../verifier/index.js';
import { type CatalogItem, choose, LogFolder, readFolderCatalog } from '../../verifier/node/index.js';
import { UsageError } from '../terminal/commandLine.js';
import { counted, grouped } from '../terminal/line.js';
import { assertNoOtherFile, callersPath, opened, readJson, readPolicy } from './files.js';
import { titleOf } from './names.js';
import { print, type Verdict, worst } from './print.js';
import type { FileRequest } from './request.js';

interface AccessSource {
  readonly frames: AsyncIterable<Uint8Array>;
  /** Undefined for a copy. */
  readonly collectionId: bigint | undefined;
  readonly name: string;
}

export async function checkAccess(request: FileRequest): Promise<Verdict> {
  const { file, checkpoints } = request;
  const found = await stat(callersPath(file)).catch(() => undefined);
  const isFolder = found?.isDirectory() === true;
  if (file === '-' || found !== undefined) assertCompared(request, isFolder);
  const policy = request.policy === undefined ? undefined : await readPolicy(request.policy);
  const heads: AccessHead[] = [];
  for (const name of checkpoints) {
    const json = await readJson('accessHead', name);
    heads.push(accessHeadIn(json, name));
    if (policy === undefined) continue;
    const { entry, log } = verifyLoggedAccess(json, policy);
    print(
      'done',
      'service log',
      `${log.origin} has ${counted(entry.size, 'entry', 'entries')} of collection ${entry.collectionId}`,
    );
  }
  await assertNoOtherFile('access', file);
  if (!isFolder) return checkOne({ frames: copiedFrames(chunksOf(file)), collectionId: undefined, name: file }, heads);
  const dataDir = callersPath(file);
  const chosen = choose(await readFolderCatalog(dataDir), request.collection, request.project);
  const verdicts: Verdict[] = [];
  const absent: CatalogItem[] = [];
  for (const item of chosen) {
    const source = await LogFolder.openAccess(dataDir, item.id);
    try {
      if (source.isAbsent && heads.length === 0 && !item.isAudited) absent.push(item);
      else {
        const frames = bytesOf(source.frames());
        verdicts.push(await checkOne({ frames, collectionId: item.id, name: titleOf(item) }, heads));
      }
    } finally {
      await source.close();
    }
  }
  if (verdicts.length === 0)
    for (const item of absent) print('warning', 'no access log', `${titleOf(item)}: its reads are not audited`);
  return worst(verdicts);
}

/** Throws UsageError if an option would not be checked against anything, or checkpoints against logs of several collections. */
function assertCompared({ checkpoints, collection, project }: FileRequest, isFolder: boolean): void {
  if (!isFolder && (collection !== undefined || project !== undefined))
    throw new UsageError(
      'a copy of an access log does not name its collection: --collection and --project are for a folder',
    );
  if (isFolder && collection === undefined && checkpoints.length > 0)
    throw new UsageError('--checkpoint is about one collection: name it with --collection');
}

async function checkOne({ frames, collectionId, name }: AccessSource, heads: readonly AccessHead[]): Promise<Verdict> {
  try {
    const report = await verifyAccessLog(frames, collectionId, heads);
    const { head, first, last, wrong, unknown } = report;
    if (head.size === 0)
      print('warning', 'access log', `${name}: no entries: nothing was read since it began, or everything is lost`);
    else print('done', 'access log', `${name}: ${counted(head.size, 'entry', 'entries')}`);
    printRemoved(report);
    if (first !== undefined) print('plain', 'times', `${first} to ${last}`);
    print('plain', 'chain head', head.chainHead);
    print('plain', 'root', head.root);
    const known = heads.filter((claim) => !unknown.includes(claim));
    for (const { size } of known.filter((claim) => !wrong.some((one) => one.claim === claim)))
      print('done', 'checkpoint', `${counted(size, 'entry', 'entries')}: of this log`);
    for (const { reason } of wrong) print('failed', 'checkpoint', reason);
    const sign = report.isBeginProven ? 'warning' : 'failed';
    for (const { size } of unknown)
      print(
        sign,
        'checkpoint',
        `${counted(size, 'entry', 'entries')}: the log has removed them, so they cannot be compared`,
      );
    // Without a checkpoint that can be compared, the beginning may be gone for any reason.
    return wrong.length > 0 || (unknown.length > 0 && !report.isBeginProven) ? 'refused' : 'holds';
  } catch (error) {
    if (!(error instanceof Refused) && !(error instanceof SourceRefused)) throw error;
    print('failed', 'access log', `${name}: ${error.message}`);
    return 'refused';
  }
}

/** Says from which entry on the log is kept, and whether its beginning is proven. */
function printRemoved({ removed, isBeginProven }: AccessReport): void {
  if (removed === undefined) return;
  const { size, chainHead, root } = removed;
  print(
    'plain',
    'kept',
    `from entry ${grouped(size + 1)} on; ${counted(size, 'entry', 'entries')} before it were removed`,
  );
  print('plain', 'before it', `chain head ${chainHead}, root ${root}`);
  if (isBeginProven) print('done', 'beginning', 'a checkpoint covers it');
  else print('warning', 'beginning', 'only the log itself states it: a --checkpoint of later entries proves it');
}

async function* bytesOf(frames: AsyncIterable<{ readonly bytes: Uint8Array }>): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of frames) yield bytes;
}

/** The bytes of a file in pieces; `-` is standard input. Throws an Error of one line if the file cannot be read. */
async function* chunksOf(file: string): AsyncGenerator<Uint8Array> {
  const source = (file === '-' ? process.stdin : createReadStream(callersPath(file))) as AsyncIterable<Buffer>;
  const chunks = source[Symbol.asyncIterator]();
  for (;;) {
    const { value, done } = await opened(file, chunks.next());
    if (done === true) return;
    yield value;
  }
}
