/** Points on a canvas. Pointer and arrow keys choose a point, a click or Enter opens it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Plane } from './projection.js';

interface Props {
  readonly label: string;
  readonly plane: Plane;
  readonly colours: readonly string[];
  readonly isLit: (point: number) => boolean;
  readonly describe: (point: number) => string;
  readonly onOpen: (point: number) => void;
}

const HEIGHT = 520;
const MARGIN = 16;
const RADIUS = 3;
const REACH = 14;

interface Placed {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

export function Scatter({ label, plane, colours, isLit, describe, onOpen }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [chosen, setChosen] = useState<number>();
  useEffect(() => {
    const element = canvas.current!;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const placed = placedIn(plane, width);
  useEffect(() => {
    if (width > 0) draw(canvas.current!, placed, width, { colours, isLit, chosen });
  });
  const pointAt = ({ offsetX, offsetY }: MouseEvent): number | undefined => nearest(placed, offsetX, offsetY);
  const onKeyDown = (event: KeyboardEvent): void => {
    const direction = DIRECTIONS[event.key];
    if (direction !== undefined) {
      event.preventDefault();
      setChosen(chosen === undefined ? nearestTo(placed, width / 2, HEIGHT / 2) : next(placed, chosen, direction));
    } else if (event.key === 'Enter' && chosen !== undefined) onOpen(chosen);
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: its points are walked through with the arrow keys. */}
      <canvas
        ref={canvas}
        class="map"
        tabIndex={0}
        role="application"
        aria-label={`${label}. Arrow keys move from point to point, Enter opens the record.`}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => setChosen(pointAt(event))}
        onClick={(event) => {
          const point = pointAt(event);
          if (point !== undefined) onOpen(point);
        }}
      />
      <p class="quiet" aria-live="polite">
        {chosen === undefined ? 'Point at a record to see its text. A click opens it.' : describe(chosen)}
      </p>
    </>
  );
}

function placedIn({ x, y }: Plane, width: number): Placed {
  const [across, down] = [scale(x, width), scale(y, HEIGHT)];
  return { x: Float64Array.from(x, across), y: Float64Array.from(y, (value) => HEIGHT - down(value)) };
}

function scale(values: Float32Array, size: number): (value: number) => number {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const span = most - least;
  return (value) => (span > 0 ? MARGIN + ((value - least) / span) * (size - 2 * MARGIN) : size / 2);
}

interface Looks {
  readonly colours: readonly string[];
  readonly isLit: (point: number) => boolean;
  readonly chosen: number | undefined;
}

function draw(canvas: HTMLCanvasElement, { x, y }: Placed, width: number, { colours, isLit, chosen }: Looks): void {
  const ratio = devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = HEIGHT * ratio;
  const context = canvas.getContext('2d')!;
  context.scale(ratio, ratio);
  const ink = getComputedStyle(canvas).color;
  const dot = (point: number, radius: number): void => {
    context.beginPath();
    context.arc(x[point]!, y[point]!, radius, 0, 2 * Math.PI);
  };
  const lit: number[] = [];
  for (let point = 0; point < x.length; point++) {
    if (isLit(point)) lit.push(point);
    dot(point, RADIUS);
    context.globalAlpha = 0.75;
    context.fillStyle = colours[point]!;
    context.fill();
  }
  context.globalAlpha = 1;
  context.strokeStyle = ink;
  context.lineWidth = 2;
  for (const point of lit) {
    dot(point, RADIUS + 4);
    context.stroke();
  }
  if (chosen !== undefined) {
    dot(chosen, RADIUS + 1);
    context.fillStyle = ink;
    context.fill();
  }
}

function nearest(placed: Placed, x: number, y: number): number | undefined {
  const point = nearestTo(placed, x, y);
  return point !== undefined && Math.hypot(placed.x[point]! - x, placed.y[point]! - y) <= REACH ? point : undefined;
}

const nearestTo = (placed: Placed, x: number, y: number): number | undefined =>
  best(placed, (point) => Math.hypot(placed.x[point]! - x, placed.y[point]! - y));

const DIRECTIONS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The nearest point within 45 degrees of a direction; the given point if no other lies there. */
function next(placed: Placed, from: number, [right, down]: readonly [number, number]): number {
  const found = best(placed, (point) => {
    const [x, y] = [placed.x[point]! - placed.x[from]!, placed.y[point]! - placed.y[from]!];
    const ahead = x * right + y * down;
    const aside = Math.abs(x * down) + Math.abs(y * right);
    return point === from || ahead <= 0 || aside > ahead ? Number.POSITIVE_INFINITY : Math.hypot(x, y);
  });
  return found ?? from;
}

/** The point with the smallest finite cost. */
function best(placed: Placed, costOf: (point: number) => number): number | undefined {
  let [found, least]: [number | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
  for (let point = 0; point < placed.x.length; point++) {
    const cost = costOf(point);
    if (cost < least) [found, least] = [point, cost];
  }
  return found;
}
