/** The metrics of one process, made from the table. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type MetricText, metricTexts } from './metricsText.js';
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
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, { readonly gauge: Gauge; readonly label: string | undefined }>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #onRead: (() => void)[] = [];

  /** `shard`: the name that the metrics of a shard carry as a label. */
  constructor(process: Process, shard?: string) {
    if (shard !== undefined) this.#registry.setDefaultLabels({ shard });
    for (const { at, metrics } of GROUPS)
      if ((at as readonly Process[]).includes(process))
        for (const [name, metric] of Object.entries<Metric>(metrics)) this.#make(name, metric);
  }

  // Arguments go to prom-client unchanged: a call allocates only its labels.
  count(name: Plain<CounterName>, by?: number): void;
  count<N extends Labelled<CounterName>>(name: N, labels: LabelsOf<N>, by?: number): void;
  count(name: CounterName, labels?: object | number, by?: number): void {
    this.#counters.get(name)!.inc(labels as object, by);
  }

  observe(name: Plain<HistogramName>, seconds: number): void;
  observe<N extends Labelled<HistogramName>>(name: N, labels: LabelsOf<N>, seconds: number): void;
  observe(name: HistogramName, labels: object | number, seconds?: number): void {
    this.#histograms.get(name)!.observe(labels as object, seconds as number);
  }

  /** The returned function observes the time since this call. */
  startTimer(name: Plain<HistogramName>): () => void;
  startTimer<N extends Labelled<HistogramName>>(name: N): (labels: LabelsOf<N>) => void;
  startTimer(name: HistogramName): (labels?: object) => void {
    return this.#histograms.get(name)!.startTimer();
  }

  set(name: Plain<GaugeName>, value: number): void {
    this.#gauges.get(name)!.gauge.set(value);
  }

  change(name: Plain<GaugeName>, by: number): void {
    this.#gauges.get(name)!.gauge.inc(by);
  }

  /** `read` is called when the metrics are read. */
  gauges(read: () => Readings): void {
    this.onRead(() => {
      for (const [name, reading] of Object.entries(read())) {
        const { gauge, label } = this.#gauges.get(name)!;
        if (typeof reading === 'number') gauge.set(reading);
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
    return metricTexts(this.#registry);
  }

  #make(name: string, { type, help, labels, buckets = [] }: Metric): void {
    const options = { name, help, labelNames: Object.keys(labels), registers: [this.#registry] };
    switch (type) {
      case 'counter':
        this.#counters.set(name, new Counter(options));
        return;
      case 'gauge':
        this.#gauges.set(name, { gauge: new Gauge(options), label: options.labelNames[0] });
        return;
      case 'histogram':
        this.#histograms.set(name, new Histogram({ ...options, buckets: [...buckets] }));
        return;
    }
  }
}
