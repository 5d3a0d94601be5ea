/** What is asked of the service and not there yet, or not any more. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export interface Loaded<T> {
  readonly value: T | undefined;
  readonly error: string | undefined;
  readonly isLoading: boolean;
  /** Asks again. */
  readonly reload: () => void;
}

/** Asks when a part of `dependencies` changes, and every `everyMs` while the tab is seen. What is outdated is dropped. */
export function useLoaded<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
  everyMs?: number,
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    value: undefined,
    error: undefined,
    isLoading: true,
  });
  const [asked, setAsked] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    const ended = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    latest.current(ended.signal).then(
      (value) => {
        if (!ended.signal.aborted) setState({ value, error: undefined, isLoading: false });
      },
      (error: Error) => {
        if (!ended.signal.aborted) setState((before) => ({ ...before, error: error.message, isLoading: false }));
      },
    );
    return () => ended.abort();
  }, [...dependencies, asked]);
  const reload = useCallback(() => setAsked((count) => count + 1), []);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, reload]);
  return { ...state, reload };
}
