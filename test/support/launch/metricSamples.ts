import { type MetricSample, samplesOf } from '../../../scripts/local/clusterView/watch/figures.js';
import type { MetricText } from '../../../shared/metrics/metricsText.js';

/** All samples with one name, from all sources. */
export const samplesNamed = (name: string, ...sources: (readonly MetricText[])[]): MetricSample[] =>
  sources.flat().flatMap(({ text }) => samplesOf(text, new Set([name])));
