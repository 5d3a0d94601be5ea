import { UNAVAILABLE_RETRY_SECS } from '../../shared/errors/errors.js';
import { ERRORS, OVERLOAD } from '../../shared/errors/errorTable.js';

const INTRODUCTION = `Every error is \`{"error": "...", "code": "..."}\`. Branch on \`code\`; the message says what is wrong, and often what to do.`;

const MESSAGES = `\`{name}\` is a value. Three codes have more messages than these: those of \`validation_error\` name a part of the request,
those of \`internal_error\` and \`unavailable\` a part of the service.`;

const RETRY_AFTER = `The header \`Retry-After\` is in seconds: of 429 until the next request is allowed, of 503 always ${UNAVAILABLE_RETRY_SECS}. [The path of an
insert](paths/insert.md#where-it-is-checked) names the file that computes each.`;

const LOAD =
  'These are 503 `unavailable`. The reason is a label of `vouch_refused_total`, see [Overload](operations/overload.md#bounds).';

/** The text of `docs/errors.md`. */
export const errorsPage = (): string =>
  [
    `# Errors\n\n${INTRODUCTION}\n`,
    table(
      ['status', 'code', 'meaning', 'what to do'],
      Object.entries(ERRORS).map(([code, { status, meaning, remedy }]) => [status, `\`${code}\``, meaning, remedy]),
    ),
    `## Retry-After\n\n${RETRY_AFTER}\n`,
    `## Messages\n\n${MESSAGES}\n`,
    table(
      ['code', 'message'],
      Object.entries(ERRORS).flatMap(([code, { messages }]) =>
        Object.values<string>(messages).map((message) => [`\`${code}\``, `\`${message}\``]),
      ),
    ),
    `## Too much load\n\n${LOAD}\n`,
    table(
      ['reason', 'message'],
      Object.entries(OVERLOAD).map(([reason, message]) => [`\`${reason}\``, `\`${message}; retry shortly\``]),
    ),
  ].join('\n');

const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [row(head), `|${'---|'.repeat(head.length)}\n`, ...rows.map(row)].join('');

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |\n`;
