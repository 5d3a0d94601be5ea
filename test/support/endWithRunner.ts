/**
 * Ends a mocha run at a signal, or once its parent process is gone. Mocha itself would finish its test first or, at a
 * second signal, end without `exit`. The processes of its tests end with it, see `guarded`.
 */
const EXIT_INTERRUPTED = 130;

const end = (): never => process.exit(EXIT_INTERRUPTED);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.prependListener(signal, end);
if (process.channel !== undefined) {
  process.once('disconnect', end);
  // Without this, the listener would keep the channel open, and the channel this process.
  process.channel.unref();
}
