/** `npm run bench`: measures the kernel, the engine, the indexes, the options of searches, proofs, restarts, the service over HTTP and how it grows, and prints the figures. */
import { replaceFile } from '../shared/durable.js';
import { unreachable } from '../shared/errors.js';
import { isBareRole, runBareRole } from './bench/bareStack.js';
import { benchEngine } from './bench/engine.js';
import { benchHttp } from './bench/http.js';
import { benchIndexes } from './bench/indexes.js';
import { benchKernel } from './bench/kernel.js';
import { type BenchOptions, type Part, parseOptions, USAGE } from './bench/options.js';
import { benchOverload } from './bench/overload.js';
import { benchProof } from './bench/proof.js';
import { makeReport, reportLines } from './bench/report.js';
import { benchRestart } from './bench/restart.js';
import type { Row } from './bench/row.js';
import { benchScale } from './bench/scale.js';
import { benchSearch } from './bench/search.js';
import { runCommand } from './terminal/commandLine.js';

function benchPart(part: Part, { sizes, dataFolder }: BenchOptions): Promise<Row[]> {
  switch (part) {
    case 'kernel':
      return benchKernel(sizes);
    case 'engine':
      return benchEngine(sizes, dataFolder);
    case 'index':
      return benchIndexes(sizes, dataFolder);
    case 'search':
      return benchSearch(sizes, dataFolder);
    case 'proof':
      return benchProof(sizes);
    case 'restart':
      return benchRestart(sizes);
    case 'http':
      return benchHttp(sizes, dataFolder);
    case 'scale':
      return benchScale(sizes);
    case 'overload':
      return benchOverload(sizes);
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

const [, , role, natsUrl = ''] = process.argv;
await runCommand({ name: 'bench', usage: USAGE }, (args) =>
  isBareRole(role) ? runBareRole(role, natsUrl) : run(args),
);
