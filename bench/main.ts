/** `npm run bench`: runs the benchmarks of the parts in `row.ts`, and prints the figures. */

import { runCommand } from '../scripts/terminal/commandLine.js';
import { unreachable } from '../shared/errors/errors.js';
import { replaceFile } from '../shared/files/durable.js';
import { benchEngine } from './engine.js';
import { benchErasure } from './erasure.js';
import { benchHttp } from './http.js';
import { benchIndexes } from './indexes.js';
import { benchKernel } from './kernel.js';
import { benchLarge } from './large.js';
import { benchMemory } from './memory.js';
import { type BenchOptions, type Part, parseOptions, USAGE } from './options.js';
import { benchOverload } from './overload.js';
import { benchPeers } from './peers.js';
import { benchProof } from './proof.js';
import { makeReport, reportLines } from './report.js';
import { benchRestart } from './restart.js';
import type { Row } from './row.js';
import { benchScale } from './scale.js';
import { benchSearch } from './search.js';
import { benchSegments } from './segments.js';
import { benchStalls } from './stalls.js';
import { benchSync } from './sync.js';

function benchPart(part: Part, { sizes, dataFolder, postgres }: BenchOptions): Promise<Row[]> {
  switch (part) {
    case 'kernel':
      return benchKernel(sizes, dataFolder);
    case 'engine':
      return benchEngine(sizes, dataFolder);
    case 'index':
      return benchIndexes(sizes, dataFolder);
    case 'segments':
      return benchSegments(sizes);
    case 'search':
      return benchSearch(sizes, dataFolder);
    case 'proof':
      return benchProof(sizes);
    case 'restart':
      return benchRestart(sizes);
    case 'erasure':
      return benchErasure(sizes);
    case 'http':
      return benchHttp(sizes, dataFolder);
    case 'memory':
      return benchMemory(sizes);
    case 'large':
      return benchLarge(sizes);
    case 'scale':
      return benchScale(sizes);
    case 'overload':
      return benchOverload(sizes);
    case 'stalls':
      return benchStalls(sizes);
    case 'sync':
      return benchSync(sizes);
    case 'peers':
      return benchPeers(sizes, postgres);
    default:
      return unreachable(part);
  }
}

async function run(args: readonly string[]): Promise<void> {
  const options = parseOptions(args, process.env);
  const rows: Row[] = [];
  for (const part of options.parts) rows.push(...(await benchPart(part, options)));
  const report = makeReport(rows);
  process.stdout.write(`${reportLines(report).join('\n')}\n`);
  if (options.jsonFile !== undefined) await replaceFile(options.jsonFile, `${JSON.stringify(report, null, 2)}\n`);
}

await runCommand({ name: 'bench', usage: USAGE }, run);
