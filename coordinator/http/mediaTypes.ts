/** Media types of a request's body and of its answer, from the request's headers. */
import { type BodyKind, mayBePacked } from '../body/kinds.js';
import type { RequestHead } from './requestHead.js';

const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';
export const PACKED_TYPE = 'application/msgpack';
export const MERGE_PATCH_TYPE = 'application/merge-patch+json';

const SHOWN_CHARS = 64;
const UTF8 = /^"?(?:utf-8|utf8|us-ascii)"?$/;

/** Type and charset, in lower case, of a header such as `text/html; charset="latin1"`. */
function partsOf(contentType: string): [type: string, charset: string | undefined] {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  return [type.trim(), charset?.slice('charset='.length)];
}

/** Whether the body is msgpack. */
export const isPackedBody = ({ contentType }: RequestHead): boolean => contentType.toLowerCase() === PACKED_TYPE;

/** Whether a body of this kind may be a merge patch. */
const mayBePatch = (kind: BodyKind): boolean => kind === 'metadata';

/** Whether the body is a merge patch (RFC 7396). */
export const isMergePatch = ({ contentType }: Pick<RequestHead, 'contentType'>): boolean =>
  partsOf(contentType)[0] === MERGE_PATCH_TYPE;

/** Why a body of this kind is unreadable by its type, charset or coding; undefined if it is readable. A missing type is accepted. */
export function mediaFlaw({ contentType, contentEncoding }: RequestHead, kind: BodyKind): string | undefined {
  if (contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity')
    return `the body has the Content-Encoding ${shown(contentEncoding)}: send it uncompressed`;
  if (contentType === '' || contentType === JSON_TYPE) return kind === 'frames' ? bytesFlaw(contentType) : undefined;
  if (kind === 'frames') return bytesFlaw(contentType);
  const [type, charset] = partsOf(contentType);
  if (type === JSON_TYPE || (type === MERGE_PATCH_TYPE && mayBePatch(kind)))
    return charset === undefined || UTF8.test(charset)
      ? undefined
      : `the body has the charset ${shown(charset)}: send it in UTF-8`;
  if (mayBePacked(kind) && contentType.toLowerCase() === PACKED_TYPE) return undefined;
  const packed = mayBePacked(kind) ? ` or ${PACKED_TYPE}` : mayBePatch(kind) ? ` or ${MERGE_PATCH_TYPE}` : '';
  return `the body has the Content-Type ${shown(contentType)}: send ${JSON_TYPE}${packed}`;
}

const bytesFlaw = (contentType: string): string | undefined =>
  contentType === '' || contentType.toLowerCase() === BYTES_TYPE
    ? undefined
    : `the body has the Content-Type ${shown(contentType)}: send ${BYTES_TYPE}`;

const shown = (value: string): string => JSON.stringify(value.slice(0, SHOWN_CHARS));

/** The weight of a name in a header such as `Accept`, from 0 to 1; undefined if the header does not name it. */
export function weightOf(name: string, header: string): number | undefined {
  for (const range of header.toLowerCase().split(',')) {
    const [named = '', ...parameters] = range.split(';');
    if (named.trim() !== name) continue;
    const weight = parameters.map((parameter) => /^\s*q=([\d.]+)\s*$/.exec(parameter)?.[1]).find(Boolean);
    return weight === undefined ? 1 : Number(weight);
  }
  return undefined;
}

/** Whether the client accepts msgpack by name. */
export const acceptsPacked = ({ accept }: RequestHead): boolean =>
  accept !== '' && (weightOf(PACKED_TYPE, accept) ?? 0) > 0;
