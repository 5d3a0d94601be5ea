/** Fields that several tools take. */
import { z } from 'zod';

const DIMENSION_MAX = 32_768;
const SHOWN_MAX = 100;

export const collection = z
  .string()
  .optional()
  .describe('The name of the collection, as list_collections gives it. Omitted: the collection named "default".');

export const recordId = z.int().min(1);

export const externalId = z.string().min(1).describe('An id that was chosen outside of the service, 1 to 256 bytes.');

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
      '(eq ne gt gte lt lte in nin exists), {"author.name": "Ann"} looks inside objects, {"$or": [{...}, {...}]}, $and and $not ' +
      'combine filters.',
  );

export const limit = (usual: number) =>
  z.int().min(1).max(SHOWN_MAX).default(usual).describe(`The most that is answered, up to ${SHOWN_MAX}.`);

const requestIdText = '32 hex digits, chosen at random. The same insert sent again under it creates no second record.';
export const requestId = z
  .string()
  .regex(/^[0-9a-fA-F]{32}$/)
  .optional()
  .describe(requestIdText);
