/** `npm run load`: inserts the rows of a file, of standard input or of another service into a collection. */
import { access, constants, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { loadConfigOrExit } from '../config/load.js';
import { systemEntropy } from '../shared/clock.js';
import { ifThere } from '../shared/files/durable.js';
import { assertEqualLengths, beside, type Opened, opened } from './load/combined.js';
import { hnswlibSource } from './load/formats/hnswlib.js';
import { openFile } from './load/formats/open.js';
import { Loader } from './load/loader.js';
import { missingColumn } from './load/namedFields.js';
import { continues, noteReached, type Reached, readReached, rejectedUpTo, rejectsFileOf } from './load/progressFile.js';
import { assertRejectsFile, noneFits, Rejects, RowRejected, rejection } from './load/rejects.js';
import { reportNothingNew, reportRecords, reportRejected } from './load/report.js';
import { LOAD_USAGE, type LoadRequest, type Origin, parseLoad } from './load/request.js';
import { rowOf } from './load/row.js';
import { openService } from './load/services/open.js';
import { type RawRow, RowFault, type Source } from './load/source.js';
import { checkpointOf, extendsLog, findCollection, makeCollection, projectOf, type Target } from './load/target.js';
import { ServiceClient } from './service/serviceClient.js';
import { findTarget, type ServiceTarget } from './service/target.js';
import { isDefect, runCommand } from './terminal/commandLine.js';
import { counted, grouped, say } from './terminal/line.js';
import { showProgress } from './terminal/progress.js';
import { EXIT_INTERRUPTED, onSignals } from './terminal/signals.js';

async function sourceOf(origin: Origin, signal: AbortSignal): Promise<Source> {
  if (origin.kind === 'service') return openService(origin);
  if (origin.kind === 'hnswlib') return hnswlibSource(origin.path, origin.space);
  const { path, format, beside: other, delimiter } = origin;
  const opens = (): Promise<Source> => openFile(path, format, delimiter);
  if (other === undefined) return opens();
  const opensOther = (): Promise<Source> => openFile(other.path, other.format, delimiter);
  if ((await isRegular(path)) && (await isRegular(other.path))) await assertEqualLengths(opens, opensOther, signal);
  return beside(await opens(), await opensOther());
}

/** Whether a file can be read twice, unlike standard input and pipes. */
const isRegular = async (path: string | undefined): Promise<boolean> =>
  path !== undefined && (await ifThere(stat(path)))?.isFile() === true;

/** Identifies the source wherever the command is called: a part of request ids. */
const identityOf = async (origin: Origin): Promise<string> =>
  origin.kind === 'service'
    ? `${withoutPassword(origin.url)} ${origin.name}`
    : origin.path === undefined
      ? '-'
      : realpath(origin.path);

/** Progress files and messages must not show it. */
function withoutPassword(address: string): string {
  const url = new URL(address);
  url.password = '';
  return url.href;
}

/** Rows of a file or a service among which one must fit, if no row may be left out. Otherwise the options are probably wrong. */
const SOUGHT_ROWS = 100;

/** The number of rows among which one must fit. Rows of standard input may be slow, so its first row must fit. */
function soughtRows({ origin, rejects }: LoadRequest): number {
  if (rejects !== undefined) return Number.POSITIVE_INFINITY;
  return origin.kind === 'file' && origin.path === undefined ? 1 : SOUGHT_ROWS;
}

/** Returns whether all rows were read: false where `signal` was aborted before. */
async function load(request: LoadRequest, target: ServiceTarget, signal: AbortSignal): Promise<boolean> {
  const client = new ServiceClient(target);
  const source = await sourceOf(request.origin, signal);
  let found: Promise<Target | undefined> | undefined;
  const find = (): Promise<Target | undefined> => (found ??= findCollection(client, request));
  const faultOf = async (row: RawRow): Promise<string | undefined> => faultIn(row, request, source, await find());
  const rows = await opened(source, signal, faultOf, soughtRows(request));
  try {
    const found = await find();
    return await loadRows(inCollection(request, found), { client, url: target.url, found }, rows, signal);
  } finally {
    await rows.close();
  }
}

/** All rows go into the collection that an alias names when the load begins, wherever the alias is moved meanwhile. */
function inCollection(request: LoadRequest, found: Target | undefined): LoadRequest {
  if (found === undefined || found.name === request.collection) return request;
  say('plain', 'collection', `${request.collection} is an alias of ${found.name}`);
  return { ...request, collection: found.name };
}

function faultIn(
  { fields }: RawRow,
  { columns }: LoadRequest,
  { usual, hasColumns }: Source,
  found: Target | undefined,
): string | undefined {
  const missing = hasColumns === true ? missingColumn(fields, columns) : undefined;
  if (missing !== undefined) return missing;
  const isNormalised = found === undefined ? columns.isNormalised : found.normalise === true;
  try {
    rowOf(fields, { ...columns, isNormalised }, usual, found?.dimension);
    return undefined;
  } catch (error) {
    if (error instanceof RowFault) return error.message;
    throw error;
  }
}

/** Throws RowRejected where the first row must fit and does not, or no row fits. */
function assertBegins({ first, fault, looked }: Opened, { rejects }: LoadRequest): void {
  if (fault === undefined || (first !== undefined && rejects !== undefined)) return;
  throw new RowRejected(first === undefined ? noneFits(fault, looked) : rejection(fault));
}

/** Progress that the load continues; undefined: none. Throws an Error of one line if it is of another load. */
async function continued(
  { collection: name, progress: path, origin }: LoadRequest,
  client: ServiceClient,
  url: string,
  found: Target | undefined,
): Promise<Reached | undefined> {
  const noted = await readReached(path, await identityOf(origin));
  if (noted === undefined) return undefined;
  const present = found && (await checkpointOf(client, name));
  const place = { project: await projectOf(client), name, origin: present?.origin };
  if (!continues(noted, path!, url, place)) return undefined;
  if (noted.log === undefined || (await extendsLog(client, name, noted.log, present!.log))) return noted;
  throw new Error(
    `${path} has rows that are not in ${name}, which was restored from an older copy: remove ${path} to load from the first row`,
  );
}

const LOAD_BYTES = 8;
/** Rows that a collection recognises by default. */
const RECOGNISED_ROWS = 65_536;

/** Begins a load, and notes it. */
async function begun(
  { collection, columns, progress: path, origin, again }: LoadRequest,
  client: ServiceClient,
  url: string,
): Promise<Reached> {
  // A row with an id replaces what another load stored under it, even if both rows are equal.
  const load = columns.id === undefined && !again ? '' : Buffer.from(systemEntropy(LOAD_BYTES)).toString('hex');
  const present = await checkpointOf(client, collection);
  const place = { url, origin: present.origin, source: await identityOf(origin), load };
  const { log } = present;
  if (load === '' && log.size > RECOGNISED_ROWS)
    say(
      'plain',
      'collection',
      `${collection} has ${counted(log.size, 'event')}: rows of earlier loads are recognised only among its newest ` +
        `${grouped(RECOGNISED_ROWS)}, and others are inserted twice; --id FIELD replaces them`,
    );
  const before = { ...place, row: 0, inserted: 0, rejected: 0, replaced: 0, beganAt: log.size, log };
  if (path !== undefined) await noteReached(path, before);
  return before;
}

async function loadRows(
  request: LoadRequest,
  { client, url, found }: { client: ServiceClient; url: string; found: Target | undefined },
  rows: Opened,
  signal: AbortSignal,
): Promise<boolean> {
  const { source, first, fault } = rows;
  if (source.remark !== undefined) say('plain', 'order', source.remark);
  if (found === undefined) assertBegins(rows, request);
  for (const path of [request.progress, request.rejects])
    if (path !== undefined) await access(dirname(path), constants.W_OK);
  await assertRejectsFile(request.rejects);
  const noted = await continued(request, client, url, found);
  if (request.rejects === undefined && (noted?.row ?? 0) === 0) assertBegins(rows, request);
  const { dimension, normalise = false } = found ?? (await makeCollection(client, request, first!, source.usual));
  const rejectsFile = rejectsFileOf(request.rejects, noted);
  const before = { ...(noted ?? (await begun(request, client, url))), rejects: rejectsFile };
  if (before.row > 0)
    say('plain', 'load', `continues after row ${grouped(before.row)}, according to ${request.progress}`);
  const rejects = await Rejects.open(request.rejects, rejectedUpTo(request.rejects, noted));
  const { collection, progress: progressFile } = request;
  const columns = { ...request.columns, isNormalised: normalise };
  const loader = new Loader({ client, collection, dimension, source, columns, rejects, progressFile, signal }, before);
  const progress = showProgress('load', source.expected(1), ['row', 'rows']);
  let isWhole = false;
  try {
    isWhole = await loader.load(progress);
    if (isWhole) progress.finish();
    else progress.abandon();
  } catch (error) {
    progress.abandon();
    throw error;
  } finally {
    await rejects.close();
  }
  const { reached } = loader;
  if (reached.row === before.row && before.row > 0) reportNothingNew(request);
  if (isWhole && loader.unseen.remark !== undefined) say('warning', 'fields', loader.unseen.remark);
  const { remark } = loader.lengths;
  if (remark !== undefined) say('plain', 'lengths', remark);
  const none = reached.inserted === 0 ? 'no row fits' : undefined;
  reportRejected(reached, first === undefined && fault !== undefined ? noneFits(fault, rows.looked) : none);
  await reportRecords(request, client, reached, isWhole);
  return isWhole;
}

await runCommand({ name: 'load', usage: LOAD_USAGE }, async (args) => {
  const request = parseLoad(args);
  const target = await findTarget(request.service, loadConfigOrExit(process.env));
  const interrupted = new AbortController();
  onSignals(
    () => interrupted.abort(),
    () => process.exit(EXIT_INTERRUPTED),
  );
  const isWhole = await load(request, target, interrupted.signal).catch((error: unknown) => {
    if (interrupted.signal.aborted && !isDefect(error)) return false;
    throw error;
  });
  if (isWhole) return;
  say('plain', 'stopped', 'the same command continues from here');
  process.exit(EXIT_INTERRUPTED);
});
