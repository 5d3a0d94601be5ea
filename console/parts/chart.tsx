/** A line chart of the last five minutes. */
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
/** Length of the time axis, which ends at the latest value. */
export const CHART_SECS = 300;
const TICK_SECS = [60, 300];
/** Steps of the value axis: whole numbers, as the values are counts and rates. */
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7];

const clockTime = (secs: number): string =>
  new Date(secs * 1_000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

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
        axes: [
          { ...axis, incrs: TICK_SECS, values: (_, ticks) => ticks.map(clockTime) },
          { ...axis, incrs: WHOLE_STEPS },
        ],
        series: [{}, { stroke: color, width: 1.5, points: { show: false } }],
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { range: (_, __, latest) => [latest - CHART_SECS, latest] },
          y: { range: (_, __, most) => [0, Math.max(1, most)] },
        },
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
