/** `npm run load`: inserts the rows of a file, of standard input or of another service into a collection. */
import { realpath } from 'node:fs/promises';
import { relative } from 'node:path';
import { loadConfigOrExit } from '../config/load.js';
import type { CountRecordsResponse } from '../coordinator/contract/records.js';
import { systemEntropy } from '../shared/clock.js';
import { beside, type Opened, opened } from './load/combined.js';
import { hnswlibSource } from './load/formats/hnswlib.js';
import { openFile } from './load/formats/open.js';
import { Loader } from './load/loader.js';
import { continues, noteReached, type Reached, readReached } from './load/progressFile.js';
import { assertRejectsFile, noneFits, Rejects, RowRejected, rejection } from './load/rejects.js';
import { LOAD_USAGE, type LoadRequest, type Origin, parseLoad } from './load/request.js';
import { rowOf } from './load/row.js';
import { openService } from './load/services/open.js';
import { type RawRow, RowFault, type Source } from './load/source.js';
import { findCollection, makeCollection, originOf, projectOf, type Target } from './load/target.js';
import { ServiceClient } from './service/serviceClient.js';
import { findTarget, type ServiceTarget } from './service/target.js';
import { callersFolder, isDefect, runCommand } from './terminal/commandLine.js';
import { grouped, say } from './terminal/line.js';
import { showProgress } from './terminal/progress.js';
import { EXIT_INTERRUPTED, onSignals } from './terminal/signals.js';

async function sourceOf(origin: Origin): Promise<Source> {
  if (origin.kind === 'service') return openService(origin);
  if (origin.kind === 'hnswlib') return hnswlibSource(origin.path, origin.space);
  const source = await openFile(origin.path, origin.format, origin.delimiter);
  return origin.beside === undefined
    ? source
    : beside(source, await openFile(origin.beside.path, origin.beside.format, origin.delimiter));
}

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

/** Rows in which one that fits is sought, where no row may be left out: enough to know whether the command can succeed. */
const SOUGHT_ROWS = 100;

/** Rows of standard input may be slow: the first that does not fit ends the load at once. */
function soughtRows({ origin, rejects }: LoadRequest): number {
  if (rejects !== undefined) return Number.POSITIVE_INFINITY;
  return origin.kind === 'file' && origin.path === undefined ? 1 : SOUGHT_ROWS;
}

/** Returns whether all rows were read: false where `signal` was aborted before. */
async function load(request: LoadRequest, target: ServiceTarget, signal: AbortSignal): Promise<boolean> {
  const client = new ServiceClient(target);
  const source = await sourceOf(request.origin);
  let found: Promise<Target | undefined> | undefined;
  const find = (): Promise<Target | undefined> => (found ??= findCollection(client, request));
  const faultOf = async (row: RawRow): Promise<string | undefined> => faultIn(row, request, source, await find());
  const rows = await opened(source, signal, faultOf, soughtRows(request));
  try {
    return await loadRows(request, { client, url: target.url, found: await find() }, rows, signal);
  } finally {
    await rows.close();
  }
}

function faultIn(
  { fields }: RawRow,
  { columns }: LoadRequest,
  { usual }: Source,
  found: Target | undefined,
): string | undefined {
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
  const place = { project: await projectOf(client), name, origin: found && (await originOf(client, name)) };
  return continues(noted, path!, url, place) ? noted : undefined;
}

const LOAD_BYTES = 8;

/** Begins a load, and notes it. */
async function begun(
  { collection, columns, progress: path, origin }: LoadRequest,
  client: ServiceClient,
  url: string,
): Promise<Reached> {
  // A row with an id replaces what another load stored under it, even if both rows are equal.
  const load = columns.id === undefined ? '' : Buffer.from(systemEntropy(LOAD_BYTES)).toString('hex');
  const place = { url, origin: await originOf(client, collection), source: await identityOf(origin), load };
  const before = { ...place, row: 0, inserted: 0, rejected: 0 };
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
  await assertRejectsFile(request.rejects);
  const noted = await continued(request, client, url, found);
  if (request.rejects === undefined && (noted?.row ?? 0) === 0) assertBegins(rows, request);
  const { dimension, normalise = false } = found ?? (await makeCollection(client, request, first!, source.usual));
  const before = noted ?? (await begun(request, client, url));
  if (before.row > 0)
    say('plain', 'load', `continues after row ${grouped(before.row)}, according to ${request.progress}`);
  const rejects = await Rejects.open(request.rejects, before.row);
  const { collection, progress: progressFile } = request;
  const columns = { ...request.columns, isNormalised: normalise };
  const loader = new Loader({ client, collection, dimension, source, columns, rejects, progressFile, signal }, before);
  const progress = showProgress('load', source.expected(1), 'rows');
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
  if (loader.reached.row === before.row && before.row > 0)
    say('plain', 'collection', `there were no new rows; without ${request.progress} all are loaded again`);
  const { remark } = loader.lengths;
  if (remark !== undefined) say('plain', 'lengths', remark);
  const { rejected } = loader.reached;
  const file = request.rejects && relative(callersFolder(), request.rejects);
  const why = first === undefined && fault !== undefined ? `; ${noneFits(fault, rows.looked)}` : '';
  if (rejected > 0)
    say(
      'warning',
      'rejected',
      `${grouped(rejected)} rows do not fit${file === undefined ? '' : `: ${file} says why`}${why}`,
    );
  const { count } = await client.ask<CountRecordsResponse>(
    'GET',
    `/v1/records/count?collection=${encodeURIComponent(collection)}`,
  );
  const { inserted } = loader.reached;
  if (columns.id === undefined && count < inserted)
    say(
      'warning',
      'collection',
      `${collection}: ${grouped(count)} records are in it, fewer than the ${grouped(inserted)} loaded rows: a row whose record was deleted is not inserted again`,
    );
  else say(isWhole ? 'done' : 'plain', 'collection', `${collection}: ${grouped(count)} records are in it`);
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
