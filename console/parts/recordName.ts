/** The names of a record that a user may type. */

export type RecordName = { readonly id: number } | { readonly external_id: string };

/** Digits are an id. Anything else, also in quotes, is an external id. Null if nothing is typed. */
export function recordNameIn(text: string): RecordName | null {
  const typed = text.trim();
  if (typed === '') return null;
  if (/^\d+$/.test(typed) && Number.isSafeInteger(Number(typed))) return { id: Number(typed) };
  return { external_id: quoted(typed) ?? typed };
}

/** The string in quotes; undefined for any other text. */
function quoted(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
