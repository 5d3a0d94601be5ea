/** Draws lines over the whole terminal, on its alternate screen, and restores it afterwards. */
import type { ReadStream, WriteStream } from 'node:tty';
import type { ScreenSize, Tone, ViewLine } from './view.js';

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const TOP = '\x1b[H';
const REST_OF_LINE = '\x1b[K';
const REST_OF_SCREEN = '\x1b[J';
/** Marks of a frame, which some terminals show only when it is complete, without flicker. */
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
const CTRL_C = '\x03';

const DEFAULT_SIZE: ScreenSize = { columns: 80, rows: 24 };

interface ScreenListener {
  onResize(): void;
  /** Called for q and Ctrl-C, which sends no signal while the screen is open. */
  onQuit(): void;
}

export class Screen {
  readonly #atExit = (): void => this.close();
  readonly #onResize = (): void => this.listener.onResize();
  readonly #onKeys = (keys: Buffer): void => {
    for (const key of keys.toString()) if (key === 'q' || key === 'Q' || key === CTRL_C) this.listener.onQuit();
  };
  #isOpen = false;

  /** `coloured` false: plain text, as NO_COLOR asks for. */
  constructor(
    private readonly terminal: WriteStream,
    private readonly keyboard: ReadStream,
    private readonly coloured: boolean,
    private readonly listener: ScreenListener,
  ) {}

  get size(): ScreenSize {
    const { columns = DEFAULT_SIZE.columns, rows = DEFAULT_SIZE.rows } = this.terminal;
    return { columns, rows };
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    process.once('exit', this.#atExit);
    this.terminal.on('resize', this.#onResize);
    this.terminal.write(ENTER);
    if (this.keyboard.isTTY) this.keyboard.setRawMode(true).on('data', this.#onKeys).resume();
  }

  draw(lines: readonly ViewLine[]): void {
    if (!this.#isOpen) return;
    const text = lines.map((line) => `${this.#styled(line)}${REST_OF_LINE}`).join('\r\n');
    this.terminal.write(`${BEGIN_FRAME}${TOP}${text}${REST_OF_SCREEN}${END_FRAME}`);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.off('exit', this.#atExit);
    this.terminal.off('resize', this.#onResize);
    if (this.keyboard.isTTY) this.keyboard.off('data', this.#onKeys).setRawMode(false).pause();
    this.terminal.write(LEAVE);
  }

  #styled({ text, tone }: ViewLine): string {
    return this.coloured && COLOURS[tone] !== '' ? `${COLOURS[tone]}${text}${RESET}` : text;
  }
}
