/** Loads hnswlib-node when it is first used; it is compiled on this machine. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type hnswlib from 'hnswlib-node';
import { messageOf } from '../../shared/errors/errors.js';
import { callersFolder } from '../terminal/commandLine.js';

const NAME = 'hnswlib-node';
const COMPILER = 'which takes g++, make and python3';

let loaded: typeof hnswlib | undefined;

/** Searches beside the program, then in the caller's folder. Throws an Error of one line that says how to get the library. */
export function hnswlibNode(): typeof hnswlib {
  loaded ??= loadedFrom([import.meta.url, join(callersFolder(), 'package.json')].map((place) => createRequire(place)));
  return loaded;
}

function loadedFrom(places: readonly NodeJS.Require[]): typeof hnswlib {
  const place = places.find(isInstalled);
  if (place === undefined)
    throw new Error(`${NAME} is not installed: npm install ${NAME} in ${callersFolder()} compiles it, ${COMPILER}`);
  try {
    return place(NAME) as typeof hnswlib;
  } catch (error) {
    const [reason] = messageOf(error).split(/\.? *(?:Tried:)?\n/);
    throw new Error(`${NAME} is not compiled for this Node (${reason}): npm rebuild ${NAME} does that, ${COMPILER}`);
  }
}

function isInstalled(place: NodeJS.Require): boolean {
  try {
    place.resolve(NAME);
    return true;
  } catch {
    return false;
  }
}
