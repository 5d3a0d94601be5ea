/**
 * The samples of one metric, and their text in Prometheus' format. A sample is found by the values of its labels, through one map for
 * each label. So a count or an observation makes no text and allocates nothing. A request makes about six of them.
 */

export type LabelValues = Readonly<Record<string, string | number>>;

/** The description of a metric, as the text shows it. */
export interface MetricHead {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** In the order of the text. */
  readonly labelNames: readonly string[];
}

/** The samples with equal values of the first labels. */
interface Branch<Sample> {
  sample: Sample | undefined;
  readonly next: Map<string | number, Branch<Sample>>;
}

const NO_LABELS: LabelValues = {};

/** `shared`: the text of labels that all samples of the process have; may be empty. */
abstract class Samples<Sample> {
  readonly #root: Branch<Sample> = { sample: undefined, next: new Map() };
  /** All samples in the order of their first use, by the text of their labels. */
  readonly #all = new Map<string, Sample>();

  constructor(
    protected readonly head: MetricHead,
    protected readonly shared: string,
  ) {}

  /** Returns the sample of these labels, which may be new. */
  protected of(labels: LabelValues = NO_LABELS): Sample {
    let branch = this.#root;
    for (const name of this.head.labelNames) {
      const value = labels[name] as string | number;
      let next = branch.next.get(value);
      if (next === undefined) {
        next = { sample: undefined, next: new Map() };
        branch.next.set(value, next);
      }
      branch = next;
    }
    branch.sample ??= this.#first(labels);
    return branch.sample;
  }

  /** The `# HELP` and `# TYPE` lines, then one line for each sample. A metric without labels has one sample from the start. */
  text(): string {
    const { name, type, help, labelNames } = this.head;
    if (labelNames.length === 0) this.of();
    const lines = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`];
    for (const [labels, sample] of this.#all) lines.push(...this.lines(labels, sample));
    return lines.join('\n');
  }

  protected abstract make(): Sample;

  protected abstract lines(labels: string, sample: Sample): string[];

  #first(labels: LabelValues): Sample {
    const sample = this.make();
    this.#all.set(labelsText(this.head.labelNames, labels), sample);
    return sample;
  }
}

/** A counter or a gauge. */
export class Amounts extends Samples<{ value: number }> {
  add(labels: LabelValues | undefined, by: number): void {
    this.of(labels).value += by;
  }

  set(labels: LabelValues | undefined, value: number): void {
    this.of(labels).value = value;
  }

  protected make(): { value: number } {
    return { value: 0 };
  }

  protected lines(labels: string, { value }: { value: number }): string[] {
    return [lineOf(this.head.name, [labels, this.shared], value)];
  }
}

interface Durations {
  /** Number of observations for each bucket, counted in the smallest that includes them; at the end, those above all buckets. */
  readonly counts: Float64Array;
  sum: number;
}

export class DurationHistogram extends Samples<Durations> {
  /** `buckets`: upper bounds in seconds, in ascending order. */
  constructor(
    head: MetricHead,
    shared: string,
    private readonly buckets: readonly number[],
  ) {
    super(head, shared);
  }

  observe(labels: LabelValues | undefined, seconds: number): void {
    const sample = this.of(labels);
    const { buckets } = this;
    let at = 0;
    while (at < buckets.length && seconds > (buckets[at] as number)) at++;
    sample.counts[at]!++;
    sample.sum += seconds;
  }

  protected make(): Durations {
    return { counts: new Float64Array(this.buckets.length + 1), sum: 0 };
  }

  protected lines(labels: string, { counts, sum }: Durations): string[] {
    const { name } = this.head;
    const { shared } = this;
    let count = 0;
    const bucket = (most: string, further: number): string => {
      count += further;
      return lineOf(`${name}_bucket`, [`le="${most}"`, shared, labels], count);
    };
    return [
      ...this.buckets.map((most, at) => bucket(String(most), counts[at] as number)),
      bucket('+Inf', counts.at(-1) as number),
      lineOf(`${name}_sum`, [shared, labels], sum),
      lineOf(`${name}_count`, [shared, labels], count),
    ];
  }
}

/** Returns the text between the braces of a sample. */
export const labelsText = (names: readonly string[], labels: LabelValues): string =>
  names.map((name) => `${name}="${escaped(String(labels[name])).replaceAll('"', '\\"')}"`).join(',');

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');

function lineOf(name: string, labels: readonly string[], value: number): string {
  const text = labels.filter((part) => part !== '').join(',');
  return `${name}${text === '' ? '' : `{${text}}`} ${valueText(value)}`;
}

const valueText = (value: number): string =>
  value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
