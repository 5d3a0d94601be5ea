/** Projects away from the thread that draws. */
import { type Points, project } from './projection.js';

addEventListener('message', ({ data }: MessageEvent<Points>) => {
  const plane = project(data);
  postMessage(plane, { transfer: [plane.x.buffer, plane.y.buffer] });
});
