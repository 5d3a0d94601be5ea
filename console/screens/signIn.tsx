import { useState } from 'preact/hooks';
import { Field, onSubmit, Problem, Waiting } from '../parts/basics.js';
import { CallError, Service } from '../service.js';

/** A key, alone or within a copied line such as `Authorization: Bearer vk_…`. */
const KEY = /vk_[0-9a-f]{64}(?![0-9a-f])/;

/** Asks for the key, which is kept for this tab alone. */
export function SignIn({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [typed, setTyped] = useState('');
  const [problem, setProblem] = useState<string>();
  const [isAsking, setAsking] = useState(false);
  const [waiting, setWaiting] = useState(0);
  const submit = async (): Promise<void> => {
    const key = KEY.exec(typed)?.[0];
    if (key === undefined)
      return setProblem('This is not an API key. A key is vk_ and 64 digits from 0 to 9 and a to f.');
    setAsking(true);
    try {
      await Service.signIn(key, setWaiting);
      onSignedIn();
    } catch (error) {
      setProblem(reasonOf(error as Error));
      setAsking(false);
    }
  };
  return (
    <main class="sign-in">
      <h1>Vouch</h1>
      <form onSubmit={onSubmit(() => void submit())}>
        <Field label="API key" hint="This tab keeps it, and forgets it when it is closed.">
          <input
            type="password"
            name="key"
            value={typed}
            autocomplete="off"
            required
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </Field>
        <button type="submit" disabled={isAsking}>
          Sign in
        </button>
      </form>
      <Waiting requests={waiting} />
      {problem !== undefined && <Problem>{problem}</Problem>}
      <WhereKeysAre />
    </main>
  );
}

const WhereKeysAre = () => (
  <section class="quiet" aria-label="Where to find a key">
    <p>
      The first start of the service wrote a key, with the scope read_write, to <code>data/keys/default.key</code> in
      the folder in which the service runs. If VOUCH_DATA_DIR is set, its folder takes the place of <code>data</code>.
    </p>
    <p>
      For a key with the scope admin, which the screens Cluster and Keys need, run in the same folder:{' '}
      <code>npm run keys -- create --project default --scope admin</code>, or with the package{' '}
      <code>vouch keys create --project default --scope admin</code>
    </p>
  </section>
);

function reasonOf(error: Error): string {
  if (!(error instanceof CallError)) return error.message;
  if (error.status === 401) return 'The service does not know this key: it is of another service, expired or revoked.';
  if (error.status === 403) return 'This key has the scope metrics: it can read /metrics, but nothing in this console.';
  return error.message;
}
