/** Formats times and decimals without rounding: in ISO 8601, and with all digits. */

const DAY_SECS = 86_400n;

/** The number of each unit in a second. */
export const PER_SECOND = { MILLIS: 1_000n, MICROS: 1_000_000n, NANOS: 1_000_000_000n } as const;
export type Unit = keyof typeof PER_SECOND;

/** 2026-01-02T03:04:05.000, followed by `zone`. The fraction has at least three digits, and ends with the last that is not 0. */
export function timestampText(value: bigint, unit: Unit, zone: '' | 'Z'): string {
  const [secs, fraction] = divided(value, PER_SECOND[unit]);
  const [days, ofDay] = divided(secs, DAY_SECS);
  return `${dateText(Number(days))}T${clockText(ofDay)}.${fractionDigits(fraction, unit).padEnd(3, '0')}${zone}`;
}

/** 03:04:05, with a fraction that is not 0. */
export function timeText(value: bigint, unit: Unit): string {
  const [secs, fraction] = divided(value, PER_SECOND[unit]);
  const digits = fractionDigits(fraction, unit);
  return clockText(secs) + (digits === '' ? '' : `.${digits}`);
}

/** The date of a number of days since 1970-01-01, by the present calendar for all years. http://howardhinnant.github.io/date_algorithms.html */
export function dateText(days: number): string {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const year = Math.floor(
    (ofEra - Math.floor(ofEra / 1_460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const march = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * march + 2) / 5) + 1;
  const month = march < 10 ? march + 3 : march - 9;
  return `${yearText(year + era * 400 + (month <= 2 ? 1 : 0))}-${twoDigits(month)}-${twoDigits(day)}`;
}

/** Four digits; for years before 0 and after 9999 a sign and at least six. The year before 1 is 0. */
export function yearText(year: number): string {
  if (year >= 0 && year <= 9_999) return String(year).padStart(4, '0');
  return (year < 0 ? '-' : '+') + String(Math.abs(year)).padStart(6, '0');
}

/** 1.10 of 110 with a scale of 2. */
export function decimalText(unscaled: bigint, scale: number): string {
  if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale));
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const twoDigits = (value: bigint | number): string => String(value).padStart(2, '0');

const clockText = (secs: bigint): string =>
  `${twoDigits(secs / 3_600n)}:${twoDigits((secs / 60n) % 60n)}:${twoDigits(secs % 60n)}`;

const fractionDigits = (fraction: bigint, unit: Unit): string =>
  String(PER_SECOND[unit] + fraction)
    .slice(1)
    .replace(/0+$/, '');

/** Quotient and remainder; the remainder is not negative. */
function divided(value: bigint, by: bigint): [bigint, bigint] {
  const rest = ((value % by) + by) % by;
  return [(value - rest) / by, rest];
}
