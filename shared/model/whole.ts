import type { tags } from 'typia';
import type { ACCESS_RETENTION_DAYS_MAX, TTL_SECS_MAX } from '../limits.js';

/** Bounds of a number, in one tag, so that a refusal names both. */
export type Between<Least extends number, Most extends number> = tags.TagBase<{
  target: 'number';
  kind: 'between';
  value: undefined;
  validate: `${Least} <= $input && $input <= ${Most}`;
  exclusive: true;
  schema: { minimum: Least; maximum: Most };
}>;

/** Bounds of a whole number, in two tags, so that whole numbers with other bounds can be assigned. Each tag names both bounds. */
export type WholeBetween<
  Least extends number,
  Most extends number,
  Published extends object = { minimum: Least; maximum: Most },
> = Integer<Least, Most> & WholeBounds<Least, Most, Published>;

type Integer<Least extends number, Most extends number> = tags.TagBase<{
  target: 'number';
  kind: 'integer';
  value: `${Least} to ${Most}`;
  validate: `Number.isInteger($input)`;
  exclusive: true;
  schema: { type: 'integer' };
}>;

/** `Published`: the bounds in the schemas. */
type WholeBounds<Least extends number, Most extends number, Published extends object> = tags.TagBase<{
  target: 'number';
  kind: 'wholeBounds';
  value: undefined;
  validate: `${Least} <= $input && $input <= ${Most}`;
  exclusive: true;
  schema: Published;
}>;

/** Unix seconds up to a bound, in two tags like those of `WholeBetween`. A refusal says that they are not milliseconds. */
export type UnixSecondsUpTo<Most extends number> = WholeSeconds<1, Most> & SecondsBounds<1, Most>;

type WholeSeconds<Least extends number, Most extends number> = tags.TagBase<{
  target: 'number';
  kind: 'integer';
  value: `${Least} to ${Most}`;
  validate: `Number.isInteger($input)`;
  exclusive: true;
  schema: { type: 'integer' };
}>;

type SecondsBounds<Least extends number, Most extends number> = tags.TagBase<{
  target: 'number';
  kind: 'wholeBounds';
  value: undefined;
  validate: `${Least} <= $input && $input <= ${Most}`;
  exclusive: true;
  schema: { minimum: Least; maximum: Most };
}>;

/** A whole number that a double represents exactly, 0 to 2^53 - 1. */
export type Whole = number & WholeBetween<0, 9007199254740991>;

/** Unix milliseconds that a date can hold. */
export type UnixMs = number & WholeBetween<0, 8640000000000000>;

/** The life of the records of a collection in seconds. */
export type TtlSecs = number & WholeBetween<1, typeof TTL_SECS_MAX>;

/** Days for which the entries of an access log are kept. */
export type RetentionDays = number & WholeBetween<1, typeof ACCESS_RETENTION_DAYS_MAX>;

/** The life of a record in milliseconds, up to a hundred years. */
export type LifeMs = number & WholeBetween<1, 3155760000000>;

export type { DurationMs } from '../../config/config.js';

/** A number that is neither NaN nor infinite. */
export type Finite = number & tags.Minimum<-1.7976931348623157e308> & tags.Maximum<1.7976931348623157e308>;

/** Throws RangeError for an amount that is not whole: NaN would pass every bound, and spoil the sum for ever. */
export function assertWhole(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new RangeError(`${amount} is not an amount to reserve`);
}
