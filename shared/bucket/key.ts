import { VouchError } from '../errors.js';

const KEY = /^[A-Za-z0-9_=-]+(\.[A-Za-z0-9_=-]+)*$/;
const KEY_MAX_CHARS = 255;

/** Throws `validation_error` where `key` is not one that every kind of bucket can hold. */
export function checkKey(key: string): void {
  if (key.length > KEY_MAX_CHARS || !KEY.test(key))
    throw new VouchError('validation_error', `${JSON.stringify(key)} is not a key of a bucket`);
}
