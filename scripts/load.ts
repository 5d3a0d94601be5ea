/** `npm run load`: inserts the rows of a file, of standard input or of another service into a collection. */
import { realpath } from 'node:fs/promises';
import { relative } from 'node:path';
import { loadConfigOrExit } from '../config/load.js';
import { beside, withFirst } from './load/combined.js';
import { openFile } from './load/formats/open.js';
import { Loader } from './load/loader.js';
import { reachedBefore } from './load/progressFile.js';
import { Rejects } from './load/rejects.js';
import { LOAD_USAGE, type LoadRequest, type Origin, parseLoad } from './load/request.js';
import { openService } from './load/services/open.js';
import type { Source } from './load/source.js';
import { collectionFor } from './load/target.js';
import { ServiceClient } from './service/serviceClient.js';
import { findTarget } from './service/target.js';
import { callersFolder, runCommand } from './terminal/commandLine.js';
import { grouped, say } from './terminal/line.js';
import { showProgress } from './terminal/progress.js';
import { EXIT_INTERRUPTED, onSignals } from './terminal/signals.js';

async function sourceOf(origin: Origin): Promise<Source> {
  if (origin.kind === 'service') return openService(origin);
  const source = await openFile(origin.path, origin.format);
  return origin.beside === undefined
    ? source
    : beside(source, await openFile(origin.beside.path, origin.beside.format));
}

/** Of the source, wherever the command is called: a part of request ids. */
const identityOf = async (origin: Origin): Promise<string> =>
  origin.kind === 'service' ? `${origin.url} ${origin.name}` : origin.path === undefined ? '-' : realpath(origin.path);

async function load(request: LoadRequest, client: ServiceClient, signal: AbortSignal): Promise<void> {
  const { first, source } = await withFirst(await sourceOf(request.origin));
  const { id, dimension } = await collectionFor(client, request, { first, usual: source.usual });
  const identity = await identityOf(request.origin);
  const before = await reachedBefore(request.progress, id, identity);
  if (before.row > 0) say('plain', 'load', `goes on after row ${grouped(before.row)}, as ${request.progress} says`);
  const rejects = await Rejects.open(request.rejects, before.row === 0);
  const { collection, columns, progress: progressFile } = request;
  const loader = new Loader({ client, collection, dimension, source, columns, rejects, progressFile, signal }, before);
  const progress = showProgress('load', source.expected(1), 'rows');
  try {
    await loader.load(progress);
    progress.finish();
  } catch (error) {
    progress.abandon();
    throw error;
  } finally {
    await rejects.close();
  }
  const { inserted, rejected } = loader.reached;
  say('done', 'collection', `${collection}: ${grouped(inserted)} of these rows are in it`);
  if (loader.reached.row === before.row && before.row > 0)
    say('plain', 'collection', `there were no new rows; without ${request.progress} all are loaded again`);
  if (rejected === 0) return;
  const told = request.rejects && relative(callersFolder(), request.rejects);
  say('warning', 'rejected', `${grouped(rejected)} rows do not fit${told === undefined ? '' : `: ${told} says why`}`);
}

await runCommand({ name: 'load', usage: LOAD_USAGE }, async (args) => {
  const request = parseLoad(args);
  const client = new ServiceClient(await findTarget(request.service, loadConfigOrExit(process.env)));
  const interrupted = new AbortController();
  onSignals(
    () => interrupted.abort(),
    () => process.exit(EXIT_INTERRUPTED),
  );
  await load(request, client, interrupted.signal);
  if (interrupted.signal.aborted) {
    say('plain', 'stopped', 'the same command goes on from here');
    process.exit(EXIT_INTERRUPTED);
  }
});
