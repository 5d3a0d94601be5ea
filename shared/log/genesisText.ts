/** The text settings at the end of a genesis; see `eventLayout.ts`. */
import { isUtf8 } from 'node:buffer';
import { Malformed } from '../errors/malformed.js';
import { isLanguage, LANGUAGE_VERSION, type TextSettings } from '../model/textLanguage.js';
import { assertHolds, assertLength, type ByteView } from './eventBytes.js';

const LANGUAGE_AT = 2;

export function writeText({ language, version }: TextSettings, { bytes, view }: ByteView, at: number): void {
  const name = Buffer.from(language);
  view.setUint8(at, version);
  view.setUint8(at + 1, name.length);
  bytes.set(name, at + LANGUAGE_AT);
}

/** Reads the settings of the event in the bytes from `at` to `end`. `textAt`: their offset in the event. */
export function readText({ bytes, view }: ByteView, at: number, textAt: number, end: number): TextSettings {
  assertHolds(at, end, textAt + LANGUAGE_AT);
  const version = view.getUint8(at + textAt);
  assertLength(at, end, textAt + LANGUAGE_AT + view.getUint8(at + textAt + 1));
  const name = bytes.subarray(at + textAt + LANGUAGE_AT, end);
  const language = isUtf8(name) ? Buffer.from(name).toString() : 'an unknown language';
  if (!isLanguage(language) || version !== LANGUAGE_VERSION)
    throw new Malformed(`texts in ${language}, version ${version}, are not known to this program`, at + textAt);
  return { language, version };
}
