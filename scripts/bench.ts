/** `npm run bench`: measures the kernel, the engine and the service over HTTP, and prints the figures. */
import { replaceFile } from '../shared/durable.js';
import { messageOf, unreachable } from '../shared/errors.js';
import { benchEngine, engineSteps } from './bench/engine.js';
import { benchHttp, httpSteps } from './bench/http.js';
import { benchKernel, kernelSteps } from './bench/kernel.js';
import { type BenchOptions, type Part, parseOptions, USAGE, UsageError } from './bench/options.js';
import { makeReport, reportLines } from './bench/report.js';
import type { Row } from './bench/row.js';
import { say } from './terminal/line.js';
import { type Progress, showProgress } from './terminal/progress.js';

const EXIT_USAGE = 2;

async function measured(part: Part, steps: number, measure: (progress: Progress) => Promise<Row[]>): Promise<Row[]> {
  const progress = showProgress(part, steps, 'measurements');
  const rows = await measure(progress);
  progress.finish();
  return rows;
}

function benchPart(part: Part, { sizes, dataFolder }: BenchOptions): Promise<Row[]> {
  switch (part) {
    case 'kernel':
      return measured(part, kernelSteps(sizes), (progress) => benchKernel(sizes, progress));
    case 'engine':
      return measured(part, engineSteps(sizes, dataFolder), (progress) => benchEngine(sizes, dataFolder, progress));
    case 'http':
      return measured(part, httpSteps(sizes, dataFolder), (progress) => benchHttp(sizes, dataFolder, progress));
    default:
      return unreachable(part);
  }
}

try {
  const options = parseOptions(process.argv.slice(2), process.env);
  const rows: Row[] = [];
  for (const part of options.parts) rows.push(...(await benchPart(part, options)));
  const report = makeReport(rows);
  process.stdout.write(`${reportLines(report).join('\n')}\n`);
  if (options.jsonFile !== undefined) await replaceFile(options.jsonFile, `${JSON.stringify(report, null, 2)}\n`);
} catch (error) {
  const isUsage = error instanceof UsageError;
  say('failed', 'bench', messageOf(error));
  if (isUsage) process.stderr.write(`\n${USAGE}\n`);
  process.exitCode = isUsage ? EXIT_USAGE : 1;
}
