/** Puts typia's notation of a type into words, such as `((number & Minimum<1>) | null | undefined)`. */

/** Matches either tag of `WholeBetween`. */
const WHOLE = /^(?:Integer|WholeBounds)</;
/** Matches either tag of `UnixSecondsUpTo`. */
const SECONDS = /^(?:WholeSeconds|SecondsBounds)</;
const NUMBERS = /^Array<Component>/;
const BYTES = /^Array<Byte>/;
/** Matches a pattern that takes a list of certain words, separated by commas. */
const LISTED = /^\^\(([\w|]+)\)\(,\(\1\)\)\*\$$/;

/** The alternatives of a type, without `undefined`: missing values have another message. */
export function inWords(expected: string): string {
  const alternatives = split(unwrapped(expected), ' | ').filter((part) => part !== 'undefined');
  if (alternatives.length > 1) return alternatives.map(inWords).join(' or ');
  const [base, ...tags] = split(unwrapped(alternatives[0] ?? 'nothing'), ' & ');
  return `${numberOf(tags) ?? named(base!)}${bounds(tags)}`;
}

function numberOf(tags: readonly string[]): string | undefined {
  if (tags.some((tag) => SECONDS.test(tag))) return 'whole unix seconds, not milliseconds,';
  return tags.some((tag) => WHOLE.test(tag)) ? 'a whole number' : undefined;
}

function named(base: string): string {
  if (NUMBERS.test(base)) return 'an array of numbers';
  if (BYTES.test(base)) return 'an array of bytes';
  if (base.startsWith('Array<')) return 'an array';
  if (base.startsWith('Record<') || /^[A-Z]\w*$/.test(base)) return 'an object';
  return /^(?:number|string|boolean)$/.test(base) ? `a ${base}` : base;
}

/** The tags that name both bounds. */
const BOTH = ['Integer', 'WholeBounds', 'WholeSeconds', 'SecondsBounds', 'Between'];

const argument = (tags: readonly string[], name: string): string | undefined =>
  tags.find((tag) => tag.startsWith(`${name}<`))?.slice(name.length + 1, -1);

function bounds(tags: readonly string[]): string {
  const both = BOTH.flatMap((name) => argument(tags, name)?.split(', ') ?? []);
  const least = argument(tags, 'Minimum') ?? both[0];
  const most = argument(tags, 'Maximum') ?? both[1];
  const pattern = argument(tags, 'Pattern');
  const format = argument(tags, 'Format');
  const words = [
    least !== undefined && most !== undefined ? ` from ${least} to ${most}` : '',
    least !== undefined && most === undefined ? ` of at least ${least}` : '',
    least === undefined && most !== undefined ? ` of at most ${most}` : '',
    counted(argument(tags, 'MinItems'), argument(tags, 'MaxItems')),
    lengths(argument(tags, 'MinLength'), argument(tags, 'MaxLength')),
    bytes(argument(tags, 'Utf8Bytes')),
    pattern === undefined ? '' : shape(JSON.parse(pattern) as string),
    format === undefined ? '' : ` in the format ${JSON.parse(format)}`,
  ];
  return words.join('');
}

/** Describes a pattern: by the words that it takes, if it lists them. */
function shape(pattern: string): string {
  const names = LISTED.exec(pattern)?.[1];
  return names === undefined ? ` that matches ${pattern}` : ` of ${names.replaceAll('|', ', ')}, separated by commas`;
}

function lengths(least: string | undefined, most: string | undefined): string {
  if (least === undefined) return most === undefined ? '' : ` of at most ${most} characters`;
  return most === undefined ? ` of at least ${least} characters` : ` of ${least} to ${most} characters`;
}

function bytes(range: string | undefined): string {
  return range === undefined ? '' : ` of ${range.replace(', ', ' to ')} bytes`;
}

function counted(least: string | undefined, most: string | undefined): string {
  if (least === undefined && most === undefined) return '';
  if (most === undefined) return ` with at least ${items(least)}`;
  if (least === most) return ` with ${items(most)}`;
  return least === undefined ? ` with at most ${items(most)}` : ` with ${least} to ${items(most)}`;
}

const items = (count: string | undefined): string => (count === '1' ? '1 item' : `${count} items`);

/** Removes parentheses around the whole text. */
function unwrapped(text: string): string {
  return text.startsWith('(') && closes(text) === text.length - 1 ? unwrapped(text.slice(1, -1)) : text;
}

function closes(text: string): number {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') depth += 1;
    if (text[i] === ')' && --depth === 0) return i;
  }
  return -1;
}

/** Splits at `separator`, except within parentheses, type arguments and quotes. */
function split(text: string, separator: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let isQuoted = false;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char === '"') isQuoted = !isQuoted;
    if (isQuoted) continue;
    if ('(<'.includes(char)) depth += 1;
    if (')>'.includes(char)) depth -= 1;
    if (depth !== 0 || !text.startsWith(separator, i)) continue;
    parts.push(text.slice(from, i));
    from = i + separator.length;
  }
  return [...parts, text.slice(from)];
}
