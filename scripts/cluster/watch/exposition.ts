/** Reads Prometheus' text format, as far as a coordinator writes it. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of those names; anything else is passed over. */
export function samplesOf(text: string, names: ReadonlySet<string>): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? [];
    if (!names.has(name)) continue;
    samples.push({
      name,
      labels: labelsOf(labels),
      value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value),
    });
  }
  return samples;
}

const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(LABEL)].map(([, name, value]) => [name!, value!]));
