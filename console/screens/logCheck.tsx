/** The service log on the screen of a collection's history: its reader says whose signatures it must have. */
import { useState } from 'preact/hooks';
import { type FollowedLog, followLog, isAlarm, rememberedPolicy } from '../audit/serviceLog.js';
import { grouped } from '../parts/basics.js';

interface Outcome {
  readonly followed?: FollowedLog;
  readonly failure?: Error;
}

export function LogCheck() {
  const [policy, setPolicy] = useState(rememberedPolicy);
  const [outcome, setOutcome] = useState<Outcome>({});
  const check = async (): Promise<void> => {
    setOutcome({});
    try {
      setOutcome({ followed: await followLog(policy, new AbortController().signal) });
    } catch (failure) {
      setOutcome({ failure: failure as Error });
    }
  };
  return (
    <details>
      <summary>The log of the service</summary>
      <label>
        Policy: the key of the log and its witnesses, from those who run them
        <textarea rows={4} value={policy} onInput={(event) => setPolicy(event.currentTarget.value)} />
      </label>
      <button type="button" class="plain" onClick={() => void check()} disabled={policy.trim() === ''}>
        Check the log
      </button>
      <Result of={outcome} />
    </details>
  );
}

function Result({ of: { followed, failure } }: { readonly of: Outcome }) {
  if (failure !== undefined)
    return (
      <div class="alarm" role="alert">
        <strong>
          {isAlarm(failure) ? 'The log is not the one that was seen here.' : 'The log could not be checked.'}
        </strong>
        <p>{failure.message}</p>
      </div>
    );
  if (followed === undefined) return null;
  const { checkpoint, entries, isFirst } = followed;
  const by = checkpoint.witnesses.map(({ name }) => name).join(', ');
  return (
    <p role="status" class="good">
      {grouped(checkpoint.size)} entries of {checkpoint.origin}
      {isFirst ? ', seen here for the first time' : `, ${grouped(entries)} new, history unchanged`};{' '}
      {by === '' ? 'the policy asks for no witness' : `cosigned by ${by}`}.
    </p>
  );
}
