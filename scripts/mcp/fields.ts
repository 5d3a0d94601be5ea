/** Fields that several tools take. */
import { z } from 'zod';

const DIMENSION_MAX = 32_768;
const SHOWN_MAX = 100;

export const collection = z
  .string()
  .optional()
  .describe(
    'The name of the collection, or an alias of it, as list_collections gives them. Omitted: the collection named "default".',
  );

export const recordId = z.int().min(1);

export const externalId = z.string().min(1).describe('An id that was chosen outside of the service, 1 to 256 bytes.');

export const OWN_FIELDS = ['text', 'vector', 'log_index'] as const;

export const vector = z
  .array(z.number())
  .min(1)
  .max(DIMENSION_MAX)
  .describe('As many numbers as the collection has dimensions, each between -32768 and 32767.99998.');

export const metadata = z.record(z.string(), z.unknown());

export const metadataFilter = metadata
  .optional()
  .describe(
    'Only records whose metadata matches all keys: {"lang": "de"} is equality, {"year": {"gte": 2000, "lt": 2010}} uses operators ' +
      '(eq ne gt gte lt lte in nin prefix contains words exists), {"title": {"words": {"all": "red wine"}}} finds words ' +
      '(also any, phrase), {"$text": {"words": …}} finds words of the text, {"author.name": "Ann"} looks inside objects, ' +
      '{"$or": [{...}, {...}]}, $and and $not combine filters.',
  );

export const limit = (usual: number) =>
  z.int().min(1).max(SHOWN_MAX).default(usual).describe(`The most items in the answer, up to ${SHOWN_MAX}.`);

const requestIdText = '32 hex digits, chosen at random. The same insert sent again under it creates no second record.';
export const requestId = z
  .string()
  .regex(/^[0-9a-fA-F]{32}$/)
  .optional()
  .describe(requestIdText);

export const expiresAt = z
  .int()
  .min(1)
  .describe(
    'Unix seconds in the future: from then on the record is in no answer, and it is removed. Omitted: ' +
      'it stays for ttl_secs of the collection, or for good if that is not set.',
  );

export const keyId = z
  .string()
  .describe(
    'The vault key that the record is under, 32 hex, or `new` for a fresh one: a shred of the key erases the record.',
  );
/** The column of keys in an answer. */
export const keyIds = z
  .array(z.unknown())
  .optional()
  .describe('The vault key of each record; omitted if no record is under a key.');

export const ifLogIndex = z
  .int()
  .min(0)
  .optional()
  .describe(
    'The log_index of a read: the call is refused with conflict if one of its records has changed since that event.',
  );

/** Fields of answers. */
export const ids = z.array(z.int());

export const receipt = z.record(z.string(), z.unknown()).describe('The receipt of the write, which verify checks.');

const marked = 'Shortened where it ends with …[n more …]: read_field reads all of it.';

export const record = z.object({
  id: z.int(),
  external_id: z.string().optional(),
  expires_at: z.int().optional().describe('Unix seconds from which on the record is in no answer.'),
  key_id: z.string().optional().describe('The vault key that the record is under.'),
  tag: z.int(),
  metadata: metadata.optional().describe(marked),
  text: z.string().optional().describe(marked),
  vector: z.array(z.number()).optional(),
  log_index: z.int().optional().describe('The last event that wrote the record. A change takes it as if_log_index.'),
});

export const queryWords = z.string().describe('The words to find.');

export const textHit = record.omit({ tag: true, log_index: true, expires_at: true, key_id: true }).extend({
  text_score: z.number().describe('How well the text matches the words, by BM25: greater is better.'),
});

export const hit = record.omit({ tag: true, log_index: true, expires_at: true, key_id: true }).extend({
  score: z.number().describe('The squared distance.'),
  similarity: z.number().optional().describe('The cosine, 1 - score / 2, in a collection that normalises.'),
  text_score: z.number().optional().describe('How well the text matches query_text, with hybrid.'),
});
