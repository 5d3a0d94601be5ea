/** Patterns that no committed text may contain; the tidy test searches for them. Only this file is exempt. */

interface Unfit {
  readonly pattern: RegExp;
  /** Texts that the pattern finds, and similar texts that are fine. */
  readonly found: readonly string[];
  readonly passed: readonly string[];
}

/** Absolute paths of temporary and home folders. A mount in a container follows a square bracket. */
export const MACHINE_PATH: Unfit = {
  pattern:
    /(?:^|[\s'"`(=:,])\/(?:(?:var\/)?tmp|home|root|work|Users|var\/folders|private\/tmp|dev\/shm)(?:\/|(?=[\s'"`),;.]|$))/,
  found: ['see /tmp/a.mjs', "'/home/a'", '`/tmp`', '/root/x', 'folder=/Users/me', '(/var/folders/q)'],
  passed: ['join(tmpdir(), name)', '"/v1/records"', 'https://host/home/page', '$TMPDIR/data', 'scripts/work/x'],
};

export const NOTE_TO_ONESELF: Unfit = {
  pattern:
    /\b(?:TODO|FIXME|XXX|HACK|LEAD)\b|\bin this session\b|\bthere was no time\b|\b(?:was|were) not (?:tried|run|measured)\b|\b(?:I|we) (?:have|did|could) not\b|\bI (?:tried|measured|ran)\b/,
  found: ['// TODO: later', '(LEAD: the times', 'this was not run', 'we have not pulled plugs', 'the logs I tried'],
  passed: ['the leader leads', 'a todo list', 'what was not there', 'it is not tried before', 'it was running'],
};

/** When, how often and beside which load something was measured or tried. */
export const CIRCUMSTANCE: Unfit = {
  pattern:
    /\b(?:busy|quiet|idle|loaded) machine\b|\b(?:on|of) (?:a|the|that) day\b|\b(?:one|this|that|last|earlier) run\b(?! of)|\bmachine had\b|\(tried\b|\bTried\b|\bwas tried\b|\bload \d+ to \d|\(load \d/,
  found: ['(busy machine)', 'one run on', 'on a day when', '(tried with 2.9)', 'load 8 to 10', 'Tried with'],
  passed: ['it is tried again', 'erasable one day', 'a run of graph writes', 'clients under load'],
};
