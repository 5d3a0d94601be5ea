/** The metrics of one process, made from the table. */
import { systemClock } from '../clock.js';
import { type MetricText, metricTexts } from './metricsText.js';
import { Amounts, DurationHistogram, type LabelValues, labelsText } from './samples.js';
import { GROUPS, type Metric, type MetricTable, type Process } from './table.js';

type NamesOf<Type extends Metric['type']> = {
  [N in keyof MetricTable]: MetricTable[N]['type'] extends Type ? N : never;
}[keyof MetricTable];
type ValuesOf<
  N extends keyof MetricTable,
  L extends keyof MetricTable[N]['labels'],
> = MetricTable[N]['labels'][L] extends readonly (infer V extends string | number)[] ? V : never;
type LabelsOf<N extends keyof MetricTable> = {
  readonly [L in keyof MetricTable[N]['labels']]: ValuesOf<N, L>;
};
type Plain<N extends keyof MetricTable> = N extends N ? (keyof LabelsOf<N> extends never ? N : never) : never;
type Labelled<N extends keyof MetricTable> = Exclude<N, Plain<N>>;

type CounterName = NamesOf<'counter'>;
type GaugeName = NamesOf<'gauge'>;
type HistogramName = NamesOf<'histogram'>;

/** Gauges by name: a number, or one for each value of the gauge's label. */
export type Readings = {
  readonly [N in GaugeName]?: N extends Plain<GaugeName>
    ? number
    : Readonly<Record<ValuesOf<N, keyof MetricTable[N]['labels']>, number>>;
};

export class Metrics {
  readonly #counters = new Map<string, Amounts>();
  readonly #gauges = new Map<string, { readonly gauge: Amounts; readonly label: string | undefined }>();
  readonly #histograms = new Map<string, DurationHistogram>();
  /** All of them, in the order of the table. */
  readonly #all = new Map<string, Amounts | DurationHistogram>();
  readonly #onRead: (() => void)[] = [];
  /** The label of all samples. */
  readonly #shared: string;

  /** `shard`: the name that the metrics of a shard carry as a label. */
  constructor(process: Process, shard?: string) {
    this.#shared = shard === undefined ? '' : labelsText(['shard'], { shard });
    for (const { at, metrics } of GROUPS)
      if ((at as readonly Process[]).includes(process))
        for (const [name, metric] of Object.entries<Metric>(metrics)) this.#all.set(name, this.#make(name, metric));
  }

  count(name: Plain<CounterName>, by?: number): void;
  count<N extends Labelled<CounterName>>(name: N, labels: LabelsOf<N>, by?: number): void;
  count(name: CounterName, labels?: object | number, by = 1): void {
    const counter = this.#counters.get(name)!;
    if (typeof labels === 'object') counter.add(labels as LabelValues, by);
    else counter.add(undefined, labels ?? 1);
  }

  observe(name: Plain<HistogramName>, seconds: number): void;
  observe<N extends Labelled<HistogramName>>(name: N, labels: LabelsOf<N>, seconds: number): void;
  observe(name: HistogramName, labels: object | number, seconds?: number): void {
    const histogram = this.#histograms.get(name)!;
    if (typeof labels === 'object') histogram.observe(labels as LabelValues, seconds as number);
    else histogram.observe(undefined, labels);
  }

  /** The returned function observes the time since this call. */
  startTimer(name: Plain<HistogramName>): () => void;
  startTimer<N extends Labelled<HistogramName>>(name: N): (labels: LabelsOf<N>) => void;
  startTimer(name: HistogramName): (labels?: object) => void {
    const histogram = this.#histograms.get(name)!;
    const startedMs = systemClock.monotonicMs();
    return (labels) => histogram.observe(labels as LabelValues, (systemClock.monotonicMs() - startedMs) / 1000);
  }

  set(name: Plain<GaugeName>, value: number): void {
    this.#gauges.get(name)!.gauge.set(undefined, value);
  }

  change(name: Plain<GaugeName>, by: number): void {
    this.#gauges.get(name)!.gauge.add(undefined, by);
  }

  /** `read` is called when the metrics are read. */
  gauges(read: () => Readings): void {
    this.onRead(() => {
      for (const [name, reading] of Object.entries(read())) {
        const { gauge, label } = this.#gauges.get(name)!;
        if (typeof reading === 'number') gauge.set(undefined, reading);
        else for (const [value, count] of Object.entries(reading)) gauge.set({ [label!]: value }, count);
      }
    });
  }

  /** `update` is called before each reading of the metrics. */
  onRead(update: () => void): void {
    this.#onRead.push(update);
  }

  texts(): Promise<MetricText[]> {
    for (const update of this.#onRead) update();
    return metricTexts(this.#all);
  }

  #make(name: string, { type, help, labels, buckets = [] }: Metric): Amounts | DurationHistogram {
    const head = { name, type, help, labelNames: Object.keys(labels) };
    if (type === 'histogram') {
      const histogram = new DurationHistogram(head, this.#shared, buckets);
      this.#histograms.set(name, histogram);
      return histogram;
    }
    const amounts = new Amounts(head, this.#shared);
    if (type === 'counter') this.#counters.set(name, amounts);
    else this.#gauges.set(name, { gauge: amounts, label: head.labelNames[0] });
    return amounts;
  }
}
