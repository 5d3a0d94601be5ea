/** The form of a search: its vector, its conditions on metadata, and its ranking. */
import { Field } from '../parts/basics.js';
import { type Condition, type Form, OPERATORS } from './request.js';

interface Props {
  readonly form: Form;
  readonly onChange: (form: Form) => void;
}

export function SearchFields({ form, onChange }: Props) {
  const set = (part: Partial<Form>): void => onChange({ ...form, ...part });
  return (
    <>
      <fieldset class="row">
        <legend>Find records similar to</legend>
        <label>
          <input type="radio" name="by" checked={form.by === 'record'} onChange={() => set({ by: 'record' })} /> a
          record
        </label>
        <label>
          <input type="radio" name="by" checked={form.by === 'vector'} onChange={() => set({ by: 'vector' })} /> a
          vector
        </label>
        <label>
          <input type="radio" name="by" checked={form.by === 'words'} onChange={() => set({ by: 'words' })} /> words, by
          their texts alone
        </label>
        {form.by === 'words' ? (
          <input
            aria-label="Words in the text"
            placeholder="words"
            value={form.text}
            onInput={(event) => set({ text: event.currentTarget.value })}
          />
        ) : form.by === 'record' ? (
          <input
            aria-label="Id of the record"
            placeholder="id or external id"
            value={form.record}
            onInput={(event) => set({ record: event.currentTarget.value })}
          />
        ) : (
          <textarea
            aria-label="Vector"
            placeholder="0.1, 0.2, …"
            rows={2}
            cols={50}
            value={form.vector}
            onInput={(event) => set({ vector: event.currentTarget.value })}
          />
        )}
      </fieldset>
      <Conditions form={form} onChange={onChange} />
      {form.by !== 'words' && <Ranking form={form} set={set} />}
    </>
  );
}

interface RankingProps {
  readonly form: Form;
  readonly set: (part: Partial<Form>) => void;
}

const Ranking = ({ form, set }: RankingProps) => (
  <details>
    <summary>Ranking: words, age, graph</summary>
    <div class="row">
      <Words form={form} set={set} />
      <Field
        label="Half-life in seconds"
        hint="Records rank lower as they age: with each half-life, their distance counts twice. Empty: age does not count."
      >
        <input
          type="number"
          min={0}
          value={form.halfLifeSecs}
          onInput={(event) => set({ halfLifeSecs: event.currentTarget.value })}
        />
      </Field>
      <Field
        label="Diversity"
        hint="0 to 1: hits are farther from one another. Empty: the nearest records. Without words."
      >
        <input
          type="number"
          min={0}
          max={1}
          step={0.05}
          value={form.diversity}
          onInput={(event) => set({ diversity: event.currentTarget.value })}
        />
      </Field>
      <label>
        <input
          type="checkbox"
          checked={form.usesGraph}
          onChange={(event) => set({ usesGraph: event.currentTarget.checked })}
        />{' '}
        Rank records lower that are far from the best hit in the graph
      </label>
      {form.usesGraph && (
        <Field label="Weight of each hop" hint="0.15: each hop adds 15 % to the distance.">
          <input
            type="number"
            min={0}
            max={1}
            step={0.05}
            value={form.graphWeight}
            onInput={(event) => set({ graphWeight: event.currentTarget.value })}
          />
        </Field>
      )}
    </div>
  </details>
);

const Words = ({ form, set }: RankingProps) => (
  <>
    <Field label="Words to find" hint="Hits are ranked half by these words in their texts, half by distance.">
      <input value={form.text} onInput={(event) => set({ text: event.currentTarget.value })} />
    </Field>
    <Field
      label="Records that match the words"
      hint="Records that are far from the vector may be found by their words."
    >
      <select value={form.joined} onChange={(event) => set({ joined: event.currentTarget.value as Form['joined'] })}>
        <option value="near">only near ones</option>
        <option value="blend">at any distance, by both scores</option>
        <option value="rrf">at any distance, by both ranks</option>
      </select>
    </Field>
    {form.joined !== 'near' && (
      <Field label="Weight of the words" hint="0: distance alone. 1: words alone.">
        <input
          type="number"
          min={0}
          max={1}
          step={0.05}
          value={form.textWeight}
          onInput={(event) => set({ textWeight: event.currentTarget.value })}
        />
      </Field>
    )}
  </>
);

function Conditions({ form, onChange }: Props) {
  const { conditions } = form;
  const put = (next: readonly Condition[]): void => onChange({ ...form, conditions: next });
  const change = (at: number, part: Partial<Condition>): void =>
    put(conditions.map((one, i) => (i === at ? { ...one, ...part } : one)));
  return (
    <fieldset>
      <legend>Only records whose metadata matches (the key $text is the text)</legend>
      {conditions.map((condition, at) => (
        <p class="row" key={at}>
          <input
            aria-label={`Key ${at + 1}`}
            placeholder="key"
            value={condition.key}
            onInput={(event) => change(at, { key: event.currentTarget.value })}
          />
          <select
            aria-label={`Operator ${at + 1}`}
            value={condition.operator}
            onChange={(event) => change(at, { operator: event.currentTarget.value as Condition['operator'] })}
          >
            {Object.entries(OPERATORS).map(([operator, words]) => (
              <option key={operator} value={operator}>
                {words}
              </option>
            ))}
          </select>
          <input
            aria-label={`Value ${at + 1}`}
            placeholder="value"
            value={condition.value}
            onInput={(event) => change(at, { value: event.currentTarget.value })}
          />
          <button type="button" class="plain" onClick={() => put(conditions.filter((_, i) => i !== at))}>
            Remove
          </button>
        </p>
      ))}
      <p class="row">
        <button
          type="button"
          class="plain"
          onClick={() => put([...conditions, { key: '', operator: 'eq', value: '' }])}
        >
          Add a condition
        </button>
        {conditions.length > 1 && (
          <select
            aria-label="How conditions are joined"
            value={form.joinedBy}
            onChange={(event) => onChange({ ...form, joinedBy: event.currentTarget.value as Form['joinedBy'] })}
          >
            <option value="$and">all conditions must hold</option>
            <option value="$or">one condition must hold</option>
          </select>
        )}
      </p>
    </fieldset>
  );
}
