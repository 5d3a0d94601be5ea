/** Metrics in Prometheus' text format: each process renders its own, and a coordinator joins them. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** One metric: its `# HELP` and `# TYPE` lines, then its samples. */
export interface MetricText {
  readonly name: string;
  readonly text: string;
}

/** Text rendered in one turn: about a millisecond. */
const SLICE_CHARS = 128 * 1024;

/** A metric that can write itself. */
interface Written {
  text(): string;
}

/** Writes every metric, by name; the event loop turns in between. */
export async function metricTexts(metrics: Iterable<readonly [name: string, metric: Written]>): Promise<MetricText[]> {
  const texts: MetricText[] = [];
  let chars = 0;
  for (const [name, metric] of metrics) {
    const text = metric.text();
    texts.push({ name, text });
    chars += text.length;
    if (chars < SLICE_CHARS) continue;
    chars = 0;
    await nextTurn();
  }
  return texts;
}

/** Joins several sources. As the format demands, the samples of one name are together, under the first source's help. */
export function joinMetricTexts(sources: readonly (readonly MetricText[])[]): string {
  const joined = new Map<string, string>();
  for (const { name, text } of sources.flat()) {
    const before = joined.get(name);
    joined.set(name, before === undefined ? `${text}\n` : before + samplesOf(text));
  }
  return [...joined.values()].join('\n');
}

/** The lines after the two lines of the head; none for a metric without a sample. */
const samplesOf = (text: string): string =>
  text
    .split('\n')
    .slice(2)
    .map((line) => `${line}\n`)
    .join('');
