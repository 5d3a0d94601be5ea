/**
 * Draws lines over the whole terminal and gives it back as it was: the view has a screen of its own, beside what was
 * printed before. A frame is one write that overwrites the one before it, so nothing flickers.
 */
import type { WriteStream } from 'node:tty';
import type { Room, Tone, ViewLine } from './view.js';

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const TOP = '\x1b[H';
const REST_OF_LINE = '\x1b[K';
const REST_OF_SCREEN = '\x1b[J';
/** Terminals that know it show the frame when it is whole; others pass over it. */
const BEGIN_FRAME = '\x1b[?2026h';
const END_FRAME = '\x1b[?2026l';

const COLOURS: Readonly<Record<Tone, string>> = {
  title: '\x1b[1m',
  plain: '',
  good: '\x1b[32m',
  bad: '\x1b[31m',
  quiet: '\x1b[2m',
};
const RESET = '\x1b[0m';

/** Of a terminal that does not say. */
const USUAL: Room = { columns: 80, rows: 24 };

export class Screen {
  readonly #terminal: WriteStream;
  readonly #coloured: boolean;
  readonly #onResize: () => void;
  /** However the process ends, the cursor comes back. */
  readonly #atExit = (): void => this.close();
  #isOpen = false;

  /** `coloured` false: nothing but text, as NO_COLOR asks for. */
  constructor(terminal: WriteStream, coloured: boolean, onResize: () => void) {
    this.#terminal = terminal;
    this.#coloured = coloured;
    this.#onResize = onResize;
  }

  get room(): Room {
    const { columns = USUAL.columns, rows = USUAL.rows } = this.#terminal;
    return { columns, rows };
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    process.once('exit', this.#atExit);
    this.#terminal.on('resize', this.#onResize);
    this.#terminal.write(ENTER);
  }

  draw(lines: readonly ViewLine[]): void {
    if (!this.#isOpen) return;
    const text = lines.map((line) => `${this.#styled(line)}${REST_OF_LINE}`).join('\r\n');
    this.#terminal.write(`${BEGIN_FRAME}${TOP}${text}${REST_OF_SCREEN}${END_FRAME}`);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.off('exit', this.#atExit);
    this.#terminal.off('resize', this.#onResize);
    this.#terminal.write(LEAVE);
  }

  #styled({ text, tone }: ViewLine): string {
    return this.#coloured && COLOURS[tone] !== '' ? `${COLOURS[tone]}${text}${RESET}` : text;
  }
}
