import type { ReadStream } from 'node:tty';

const CTRL_C = '\x03';

/**
 * Calls `onQuit` for q and Ctrl-C, each time. Keys are not shown while this is on, and Ctrl-C is a key like any other; the
 * returned function ends that.
 */
export function listenForQuit(terminal: ReadStream, onQuit: () => void): () => void {
  const onKeys = (keys: Buffer): void => {
    for (const key of keys.toString()) if (key === 'q' || key === 'Q' || key === CTRL_C) onQuit();
  };
  terminal.setRawMode(true);
  terminal.on('data', onKeys);
  terminal.resume();
  return () => {
    terminal.off('data', onKeys);
    terminal.setRawMode(false);
    terminal.pause();
  };
}
