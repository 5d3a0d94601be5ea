import { useState } from 'preact/hooks';

/** Runs a call that a dialog asks for, and shows why it failed. */
export function useAction<Result>(run: () => Promise<Result>, onDone: (result: Result) => void) {
  const [problem, setProblem] = useState<string>();
  const [isRunning, setRunning] = useState(false);
  const start = (): void => {
    setRunning(true);
    run().then(
      (result) => {
        setProblem(undefined);
        setRunning(false);
        onDone(result);
      },
      (error: Error) => {
        setProblem(error.message);
        setRunning(false);
      },
    );
  };
  return { problem, isRunning, start };
}
