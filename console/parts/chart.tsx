/** A line over time. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export interface Series {
  readonly label: string;
  readonly values: readonly number[];
}

interface Props {
  /** Unix seconds, one for each value. */
  readonly times: readonly number[];
  readonly series: Series;
}

const HEIGHT = 160;

export function Chart({ times, series: { label, values } }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  useEffect(() => {
    const element = holder.current!;
    const { color } = getComputedStyle(element);
    const axis = { stroke: color, grid: { stroke: `color-mix(in srgb, ${color} 15%, transparent)` } };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        axes: [axis, axis],
        series: [{}, { stroke: color, width: 1.5, points: { show: false } }],
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_, __, most) => [0, Math.max(1, most)] } },
      },
      [[], []],
      element,
    );
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData([[...times], [...values]]), [times, values]);
  const last = values.at(-1);
  return (
    <figure class="chart">
      <figcaption>
        {label}:{' '}
        <strong>{last === undefined ? '–' : last.toLocaleString('en-US', { maximumFractionDigits: 1 })}</strong>
      </figcaption>
      <div ref={holder} role="img" aria-label={label} />
    </figure>
  );
}
