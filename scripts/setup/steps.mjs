/** Shows set-up's steps: one aligned line each; on a terminal with a spinner, elsewhere as plain lines. */
import { isInterrupted } from './interrupt.mjs';

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const NAME_CHARS = 14;
const out = process.stderr; // Standard output belongs to the command that follows.

const line = (mark, name, text) => `${mark} ${name.padEnd(NAME_CHARS)}${text}`;

/** Runs `work`, whose result is the text of the last line. To be called only where there is something to do. */
export async function step(name, doing, work) {
  const startedMs = Date.now();
  const seconds = () => `${((Date.now() - startedMs) / 1000).toFixed(1)} s`;
  const stop = out.isTTY ? spin(name, doing, seconds) : print(name, doing);
  try {
    const done = await work();
    stop(line(out.isTTY ? '✔' : ' ', name, `${done} (${seconds()})`));
  } catch (error) {
    stop(line(out.isTTY ? '✘' : ' ', name, `${isInterrupted() ? 'stopped' : 'failed'} (${seconds()})`));
    throw error;
  }
}

export const note = (name, text) => out.write(`${line(' ', name, text)}\n`);

function print(name, doing) {
  out.write(`${line(' ', name, `${doing} …`)}\n`);
  return (last) => out.write(`${last}\n`);
}

function spin(name, doing, seconds) {
  let frame = 0;
  const draw = (text) => out.write(`\r\x1b[2K${text}`);
  const timer = setInterval(() => {
    frame = (frame + 1) % FRAMES.length;
    draw(line(FRAMES[frame], name, `${doing} … ${seconds()}`));
  }, 80);
  return (last) => {
    clearInterval(timer);
    draw(`${last}\n`);
  };
}
