/** Shows the steps of set-up, which may run concurrently: an aligned line for each ended step, and below them the running ones. */
import { isInterrupted } from './interrupt.mjs';

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const NAME_CHARS = 14;
const out = process.stderr; // Standard output belongs to the command that follows.

const line = (mark, name, text) => `${mark} ${name.padEnd(NAME_CHARS)}${text}\n`;

/** The running steps by name. */
const running = new Map();
let timer;
let frame = 0;

/** Runs `work`, whose result is the text of the last line. To be called only if the step is needed. */
export async function step(name, doing, work) {
  const startedMs = Date.now();
  running.set(name, { doing, startedMs });
  if (out.isTTY) timer ??= setInterval(draw, 80);
  else out.write(line(' ', name, `${doing} …`));
  const end = (mark, text) => {
    running.delete(name);
    if (running.size === 0) timer = clearInterval(timer);
    const erased = out.isTTY ? '\r\x1b[2K' : '';
    out.write(erased + line(out.isTTY ? mark : ' ', name, `${text} (${seconds(startedMs)})`));
  };
  try {
    end('✔', await work());
  } catch (error) {
    end('✘', isInterrupted() ? 'stopped' : 'failed');
    throw error;
  }
}

export const note = (name, text) => out.write(`${out.isTTY ? '\r\x1b[2K' : ''}${line(' ', name, text)}`);

const seconds = (startedMs) => `${((Date.now() - startedMs) / 1000).toFixed(1)} s`;

function draw() {
  frame = (frame + 1) % FRAMES.length;
  const [[name, { doing, startedMs }], ...others] = running;
  const besides = others.map(([other]) => `, ${other}`).join('');
  const text = line(FRAMES[frame], name, `${doing}${besides} … ${seconds(startedMs)}`).trimEnd();
  out.write(`\r\x1b[2K${text.slice(0, (out.columns ?? 80) - 1)}`);
}
