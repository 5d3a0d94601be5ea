/** Values as people read them: numbers, sizes, times, hashes, shortened texts, metadata. */

/** The media query of narrow screens, which `styles.css` repeats. */
const PHONE = '(max-width: 40rem)';

export const grouped = (value: number): string => value.toLocaleString('en-US');

/** `1 event`, `2 events` */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`;

/** 1536 → `1.5 KiB` */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, at] = [bytes, 0];
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return at === 0
    ? counted(value, 'byte')
    : `${value.toLocaleString('en-US', { maximumFractionDigits: 1 })} ${units[at]}`;
}

/** About `chars` of the text, and about a third as many on a phone, where that is a line. It ends with a whole word, unless one word is longer. */
export function shortened(text: string, chars: number): string {
  const most = matchMedia(PHONE).matches ? Math.ceil(chars / 3) : chars;
  if (text.length <= most) return text;
  const beginning = text.slice(0, most + 1);
  const words = beginning.replace(/\s+\S*$/, '');
  // A surrogate is half a character.
  const kept =
    words.length < beginning.length && words !== '' ? words : text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
  return `${kept} …`;
}

/** The beginning of a hash; its title is the whole hash. */
export const Hash = ({ value }: { readonly value: string }) => (
  <code class="hash" title={value}>
    {value.slice(0, 12)}…
  </code>
);

/** An instant to the second, in UTC, on one line. */
export const Time = ({ ms }: { readonly ms: number }) => {
  const iso = new Date(ms).toISOString();
  return (
    <time class="whole" dateTime={iso}>
      {iso.replace(/\.\d+Z$/, '').replace('T', ' ')} UTC
    </time>
  );
};

/** A day in UTC, on one line. */
export const Day = ({ ms }: { readonly ms: number }) => {
  const day = new Date(ms).toISOString().slice(0, 10);
  return (
    <time class="whole" dateTime={day}>
      {day}
    </time>
  );
};

const PAIRS = 8;
const VALUE_CHARS = 60;

/** Each key with the beginning of its value, so that a long value hides no other key. */
export const Metadata = ({ of: metadata }: { readonly of: Readonly<Record<string, unknown>> | null | undefined }) => {
  const pairs = Object.entries(metadata ?? {});
  if (pairs.length === 0) return null;
  const shown = pairs.slice(0, matchMedia(PHONE).matches ? PAIRS / 2 : PAIRS);
  return (
    <span class="pairs">
      {shown.map(([key, value]) => (
        <span key={key} class="pair">
          <b>{key}</b> {shortened(typeof value === 'string' ? value : JSON.stringify(value), VALUE_CHARS)}
        </span>
      ))}
      {shown.length < pairs.length && <span class="quiet">{counted(pairs.length - shown.length, 'more key')}</span>}
    </span>
  );
};
