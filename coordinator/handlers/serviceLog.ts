/**
 * The service log as static files, for the tools of transparency logs (c2sp.org/tlog-tiles). They need no key, and do not
 * belong to the API.
 */
import { refusal, type VouchError } from '../../shared/errors/errors.js';
import { parseTilePath } from '../../verifier/index.js';
import { bytesReply, type Header, type Reply, text } from '../http/reply.js';
import { type ServiceRoute, serviceRoute, success, withAnyQuery } from '../http/route.js';

const KEPT: Header = ['cache-control', 'public, max-age=31536000, immutable'];
const ASKED_EACH_TIME: Header = ['cache-control', 'no-cache'];
/** Largest number of path elements of an index, with the width of a partial tile: a thousand million entries have three. */
const ELEMENTS_MAX = 4;

const noSuchFile = (): VouchError => refusal('not_found', 'tile');

export const SERVICE_LOG_ROUTES: readonly ServiceRoute[] = [
  serviceRoute({
    path: '/log/checkpoint',
    scope: null,
    summary: 'The newest checkpoint of the service log',
    answers: success('text'),
    handle: ({ serviceLog }) => {
      const { checkpoint } = serviceLog;
      if (checkpoint === undefined) throw refusal('not_found', 'emptyLog');
      return { ...text(checkpoint), headers: [ASKED_EACH_TIME] };
    },
  }),
  ...Array.from({ length: ELEMENTS_MAX }, (_, last) => {
    const elements = Array.from({ length: last + 1 }, (_, i) => `/{n${i}}`).join('');
    return serviceRoute({
      path: `/log/tile/{level}${elements}`,
      scope: null,
      summary: 'A tile or an entry bundle of the service log',
      answers: success('bytes'),
      handle: async ({ serviceLog }, parameters): Promise<Reply> => {
        const name = parseTilePath(`tile/${parameters.join('/')}`);
        const bytes = name && (await serviceLog.tile(name));
        if (bytes === undefined) throw noSuchFile();
        return bytesReply(bytes, [KEPT]);
      },
    });
  }),
].map(withAnyQuery);
