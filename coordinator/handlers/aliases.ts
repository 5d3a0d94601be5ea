/** The endpoints of aliases: other names of collections, which can be moved from one collection to another. */
import type { Alias as NamedCollection } from '../../shared/registry/aliasEntry.js';
import { mayUse } from '../../shared/registry/keyCollections.js';
import type { Alias, ListAliasesResponse } from '../contract/collections.js';
import { invalid } from '../contract/refusal.js';
import { isCollectionName } from '../contract/values.js';
import { COLLECTION_ERRORS, type HandlerRequest } from '../http/handlerRequest.js';
import { json, noContent } from '../http/reply.js';
import { NO_CONTENT, type Route, readRoute, writeRoute } from '../http/route.js';

const aliasJson = ({ name: alias, collection }: NamedCollection): Alias => ({ alias, collection });

export const ALIAS_ROUTES: readonly Route[] = [
  writeRoute('PUT /v1/aliases/{alias}', {
    summary: 'Create an alias of a collection, or move it to another collection',
    body: 'putAlias',
    isOfProject: true,
    answers: 'Alias',
    errors: [...COLLECTION_ERRORS, 'capacity_exceeded'],
    handle: async (request) => {
      const { body, caller, services, envelope } = request;
      return json(
        aliasJson(await services.backend.putAlias(caller.project, aliasIn(request), body.collection, envelope)),
      );
    },
  }),
  readRoute('GET /v1/aliases', {
    summary: 'List the aliases',
    answers: 'ListAliasesResponse',
    handle: (request) =>
      request.shared('aliases', async () => {
        const { project, collections } = request.caller;
        const aliases = await request.services.backend.aliases(project);
        const shown = aliases.filter(({ collection }) => mayUse(collections, collection));
        return json<ListAliasesResponse>({ aliases: shown.map(aliasJson) });
      }),
  }),
  writeRoute('DELETE /v1/aliases/{alias}', {
    summary: 'Delete an alias; its collection stays',
    isOfProject: true,
    answers: NO_CONTENT,
    errors: ['not_found'],
    handle: async (request) => {
      await request.services.backend.removeAlias(request.caller.project, aliasIn(request));
      return noContent;
    },
  }),
];

/** Throws `validation_error`. */
function aliasIn({ parameters }: HandlerRequest): string {
  const [alias = ''] = parameters;
  if (isCollectionName(alias)) return alias;
  throw invalid('the alias in the path: expected 1 to 64 of A-Z, a-z, 0-9, _ and -');
}
