/** Prometheus' text format, from the JSON of several prom-client registries. Pure. */

interface Sample {
  readonly value: number;
  /** Where it differs from the family's: `_bucket`, `_sum`, `_count`. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
}

/** A metric as prom-client's `getMetricsAsJSON` gives it. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly Sample[];
}

export interface Source {
  /** Added to each of the source's samples. */
  readonly labels: Readonly<Record<string, string>>;
  readonly families: readonly Family[];
}

/** All samples of one name stand together, which the format demands, under the help of the first source that has it. */
export function exposition(sources: readonly Source[]): string {
  const texts = new Map<string, string>();
  for (const { labels, families } of sources) {
    for (const { name, help, type, values } of families) {
      const head = texts.get(name) ?? `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
      texts.set(name, head + values.map((sample) => line(name, sample, labels)).join(''));
    }
  }
  return [...texts.values()].join('\n');
}

function line(family: string, { value, metricName, labels }: Sample, added: Source['labels']): string {
  const pairs = Object.entries({ ...labels, ...added }).map(([name, text]) => `${name}="${escapeLabel(String(text))}"`);
  const labelled = pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
  return `${metricName ?? family}${labelled} ${printed(value)}\n`;
}

function printed(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : `${value < 0 ? '-' : '+'}Inf`;
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');
