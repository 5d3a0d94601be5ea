/** The state of a screen's request to the service: loading, loaded, failed, or loading again. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export interface Loaded<T> {
  readonly value: T | undefined;
  readonly error: string | undefined;
  readonly isLoading: boolean;
  /** Sends the request again. */
  readonly reload: () => void;
}

interface State<T> extends Omit<Loaded<T>, 'reload'> {
  /** The dependencies of the value. */
  readonly of: readonly unknown[];
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((part, i) => part === other[i]);

export interface Poll {
  readonly everyMs: number;
  /** Called before each request. False: the poll is skipped. */
  readonly isAllowed: () => boolean;
}

/**
 * Sends a request when a part of `dependencies` changes, and at each poll while the tab is visible. Drops outdated answers. After a
 * failure the value before it stays only if it has the same dependencies.
 */
export function useLoaded<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
  poll?: Poll,
): Loaded<T> {
  const [{ of: _, ...state }, setState] = useState<State<T>>({
    value: undefined,
    error: undefined,
    isLoading: true,
    of: dependencies,
  });
  const [asked, setAsked] = useState(0);
  const latest = useRef({ ask, poll, isLoading: false });
  latest.current.ask = ask;
  latest.current.poll = poll;
  useEffect(() => {
    const ended = new AbortController();
    latest.current.isLoading = true;
    setState((before) => ({ ...before, isLoading: true }));
    const put = (changed: (before: State<T>) => Pick<State<T>, 'value' | 'error'>): void => {
      if (ended.signal.aborted) return;
      latest.current.isLoading = false;
      setState((before) => ({ ...changed(before), isLoading: false, of: dependencies }));
    };
    latest.current.ask(ended.signal).then(
      (value) => put(() => ({ value, error: undefined })),
      (error: Error) =>
        put(({ value, of }) => ({ value: isSame(of, dependencies) ? value : undefined, error: error.message })),
    );
    return () => ended.abort();
  }, [...dependencies, asked]);
  const reload = useCallback(() => setAsked((count) => count + 1), []);
  const everyMs = poll?.everyMs;
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      // A request that is under way, or waits for the rate limit, must not be cancelled by the next poll.
      const { isLoading, poll: now } = latest.current;
      if (document.visibilityState === 'visible' && !isLoading && now?.isAllowed() === true) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, reload]);
  return { ...state, reload };
}
