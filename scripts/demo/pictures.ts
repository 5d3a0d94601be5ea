/** Digits as small pictures of text: a character is two cells high, a cell 2 × 2 pixels. */
import { SIDE } from './digits.js';

const CELLS = SIDE / 2;
const GAP = '  ';
/** The least brightness of a cell that is drawn. */
const INK = 0.2;

interface Picture {
  readonly pixels: readonly number[];
  /** Lines under the picture, of 14 characters at most. */
  readonly captions: readonly string[];
}

/** Pictures side by side, each 14 characters wide and 7 high, above their captions. */
export function pictureLines(pictures: readonly Picture[]): string[] {
  const lines: string[] = [];
  for (let row = 0; row < CELLS; row += 2) lines.push(pictures.map(({ pixels }) => line(pixels, row)).join(GAP));
  const captions = Math.max(...pictures.map((picture) => picture.captions.length));
  for (let i = 0; i < captions; i++)
    lines.push(pictures.map((picture) => (picture.captions[i] ?? '').padEnd(CELLS)).join(GAP));
  return lines.map((text) => text.trimEnd());
}

/** One picture with `texts` to its right, level with its middle. */
export function captionedLines(pixels: readonly number[], texts: readonly string[]): string[] {
  const lines = Array.from({ length: CELLS / 2 }, (_, at) => line(pixels, 2 * at));
  const first = Math.floor((lines.length - texts.length) / 2);
  return lines.map((text, at) => `${text}${GAP}${GAP}${texts[at - first] ?? ''}`.trimEnd());
}

function line(pixels: readonly number[], row: number): string {
  let text = '';
  for (let column = 0; column < CELLS; column++) {
    const upper = isInk(pixels, row, column);
    const lower = isInk(pixels, row + 1, column);
    text += upper ? (lower ? '█' : '▀') : lower ? '▄' : ' ';
  }
  return text;
}

function isInk(pixels: readonly number[], row: number, column: number): boolean {
  const at = 2 * row * SIDE + 2 * column;
  const sum = (pixels[at] ?? 0) + (pixels[at + 1] ?? 0) + (pixels[at + SIDE] ?? 0) + (pixels[at + SIDE + 1] ?? 0);
  return sum / 4 > INK;
}
