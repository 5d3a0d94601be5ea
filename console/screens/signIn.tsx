import { useState } from 'preact/hooks';
import { Field, onSubmit, Problem } from '../parts/basics.js';
import { Service } from '../service.js';

/** Asks for the key, which is kept for this tab alone. */
export function SignIn({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState<string>();
  const [isAsking, setAsking] = useState(false);
  const submit = async (): Promise<void> => {
    setAsking(true);
    try {
      await Service.signIn(key.trim(), onSignedIn);
      onSignedIn();
    } catch (error) {
      setProblem((error as Error).message);
      setAsking(false);
    }
  };
  return (
    <main class="sign-in">
      <h1>Vouch</h1>
      <form onSubmit={onSubmit(() => void submit())}>
        <Field label="API key" hint="It stays in this tab, and goes when the tab is closed.">
          <input
            type="password"
            name="key"
            value={key}
            autocomplete="off"
            required
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </Field>
        <button type="submit" disabled={isAsking}>
          Sign in
        </button>
      </form>
      {problem !== undefined && <Problem>{problem}</Problem>}
    </main>
  );
}
