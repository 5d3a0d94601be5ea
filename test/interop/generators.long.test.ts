/**
 * Clients generated from the OpenAPI document by third-party generators: they are built, and they store, search and
 * read.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { Service } from '../support/launch/service.js';
import { skip } from '../support/skip.js';

const run = promisify(execFile);
/** Time to fetch a generator from its registry, and to build its client. */
const TOOL_MS = 420_000;

interface Generator {
  readonly name: string;
  /** Commands that fetch the generator. If one fails, the test is skipped. */
  readonly fetch: readonly Command[];
  /** Commands that generate a client from `openapi.json` and build it with the program. */
  readonly make: readonly Command[];
  readonly program: readonly [file: string, text: string];
  readonly start: Command;
}
type Command = readonly [program: string, ...args: string[]];

const PYTHON: Generator = {
  name: 'openapi-python-client',
  fetch: [
    ['python3', '-m', 'venv', 'v'],
    ['v/bin/pip', '-q', 'install', 'openapi-python-client==0.29.1'],
  ],
  make: [
    [
      ...(['v/bin/openapi-python-client', 'generate', '--path', 'openapi.json'] as const),
      ...['--meta', 'none', '--output-path', 'made'],
    ],
  ],
  program: [
    'main.py',
    `
import json, sys
from made import AuthenticatedClient, models
from made.api.collections import post_v1_namespaces
from made.api.proofs import get_v1_proof_event_log, get_v1_timeline
from made.api.records import post_v1_records, post_v1_records_count
from made.api.search import post_v1_search

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
asked = models.CreateCollectionRequest(name="made", dimension=2, metric=models.CreateCollectionRequestMetric.SQUARED_L2)
post_v1_namespaces.sync(client=client, body=asked)
for x in (1.5, 3):
    post_v1_records.sync(client=client, body=models.InsertRequest(values=[x, 0], collection="made"))
count = post_v1_records_count.sync(client=client, body=models.CountRecordsRequest(collection="made"))
search = models.SearchRequest(query=[1, 0], k=1, collection="made", consistency=models.SearchRequestConsistencyType1.STRONG)
hit = post_v1_search.sync(client=client, body=search).results[0]
events = get_v1_timeline.sync(client=client, collection="made").events
log = get_v1_proof_event_log.sync(client=client, collection="made")
missing = post_v1_search.sync(client=client, body=models.SearchRequest(query=[1, 0], k=1, collection="gone"))
print(json.dumps({
    "count": count.count, "id": hit.id, "score": hit.score,
    "events": [[event.event_type, event.shard_id] for event in events], "kernel_version": log.kernel_version,
    "code": missing.code,
}))
`,
  ],
  start: ['v/bin/python', 'main.py'],
};

const TYPESCRIPT: Generator = {
  name: 'openapi-typescript',
  fetch: [
    [
      ...(['npm', 'install', '--no-save', '--no-audit', '--no-fund'] as const),
      ...['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'],
    ],
  ],
  make: [
    ['node_modules/.bin/openapi-typescript', 'openapi.json', '-o', 'made.d.ts'],
    [
      ...(['node_modules/.bin/tsc', 'main.mts', '--strict', '--target', 'es2022', '--module', 'nodenext'] as const),
      ...['--lib', 'es2022,dom'],
    ],
  ],
  program: [
    'main.mts',
    `
import createClient from 'openapi-fetch';
import type { paths } from './made.d.ts';

declare const process: { argv: string[] };
const [, , baseUrl, key] = process.argv;
const { GET, POST } = createClient<paths>({ baseUrl: baseUrl!, headers: { authorization: \`Bearer \${key}\` } });
await POST('/v1/namespaces', { body: { name: 'made', dimension: 2, metric: 'squared_l2' } });
for (const x of [1.5, 3]) await POST('/v1/records', { body: { values: [x, 0], collection: 'made' } });
const count = await POST('/v1/records/count', { body: { collection: 'made' } });
const search = { query: [1, 0], k: 1, consistency: 'strong' } as const;
const found = await POST('/v1/search', { body: { ...search, query: [1, 0], collection: 'made' } });
const hit = found.data!.results[0]!;
const query = { collection: 'made' };
const { events } = (await GET('/v1/timeline', { params: { query } })).data!;
const log = await GET('/v1/proof/event-log', { params: { query } });
const missing = await POST('/v1/search', { body: { ...search, query: [1, 0], collection: 'gone' } });
console.log(JSON.stringify({
  count: count.data!.count, id: hit.id, score: hit.score,
  events: events.map((event) => [event.event_type, event.shard_id]), kernel_version: log.data!.kernel_version,
  code: (missing.error as { code?: string } | undefined)?.code,
}));
`,
  ],
  start: ['node', 'main.mjs'],
};

const GO: Generator = {
  name: 'oapi-codegen',
  fetch: [
    ['go', 'mod', 'init', 'made'],
    ['go', 'get', '-tool', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'],
    ['go', 'get', 'github.com/oapi-codegen/runtime@v1.9.0'],
  ],
  make: [
    [
      ...(['go', 'tool', 'oapi-codegen', '-generate', 'types,client', '-package', 'main'] as const),
      ...['-o', 'made.go', 'openapi.json'],
    ],
    ['go', 'build', '-o', 'program', '.'],
  ],
  program: [
    'main.go',
    `
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
)

func main() {
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}
	client, _ := NewClientWithResponses(os.Args[1], WithRequestEditorFn(withKey))
	name, gone, consistency := "made", "gone", SearchRequestConsistencyStrong
	client.PostV1NamespacesWithResponse(ctx, CreateCollectionRequest{Name: name, Dimension: 2, Metric: "squared_l2"})
	for _, x := range []float32{1.5, 3} {
		client.PostV1RecordsWithResponse(ctx, nil, InsertRequest{Values: []Component{x, 0}, Collection: &name})
	}
	count, _ := client.PostV1RecordsCountWithResponse(ctx, CountRecordsRequest{Collection: &name})
	query := []Component{1, 0}
	search := SearchRequest{Query: &query, K: 1, Collection: &name, Consistency: &consistency}
	found, _ := client.PostV1SearchWithResponse(ctx, search)
	timeline, _ := client.GetV1TimelineWithResponse(ctx, &GetV1TimelineParams{Collection: &name})
	log, _ := client.GetV1ProofEventLogWithResponse(ctx, &GetV1ProofEventLogParams{Collection: &name})
	search.Collection = &gone
	missing, _ := client.PostV1SearchWithResponse(ctx, search)
	events := [][]any{}
	for _, event := range timeline.JSON200.Events {
		events = append(events, []any{event.EventType, event.ShardId})
	}
	hit := found.JSON200.Results[0]
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"count": count.JSON200.Count, "id": hit.Id, "score": hit.Score,
		"events": events, "kernel_version": log.JSON200.KernelVersion, "code": missing.JSON404.Code,
	})
}
`,
  ],
  start: ['./program'],
};

describe('a client made from the OpenAPI document', () => {
  let service: Service;
  before(async () => {
    service = await Service.start('standalone');
  });
  after(() => service.stop());

  // Fetching and building one takes half a minute.
  for (const generator of [PYTHON, TYPESCRIPT, GO])
    it(`stores, searches, and reads events, proofs and errors: ${generator.name}`, async function () {
      const folder = await mkdtemp(join(tmpdir(), 'vouch-made-'));
      const execute = async ([program, ...args]: Command): Promise<string> =>
        (await run(program, args, { cwd: folder, timeout: TOOL_MS, env: environmentIn(folder) })).stdout;
      try {
        await mkdir(join(folder, 'tmp'));
        for (const command of generator.fetch)
          await execute(command).catch((error: Error & { stderr?: string }) =>
            skip(
              this,
              `${generator.name} cannot be fetched: ${(error.stderr || error.message).trim().split('\n').at(-1)}`,
            ),
          );
        const { text } = await service.client(undefined).get('/openapi.json');
        const [file, program] = generator.program;
        await writeFile(join(folder, 'openapi.json'), text);
        await writeFile(join(folder, file), program.trimStart());
        for (const command of generator.make) await execute(command);
        const { rw } = await service.newProject();
        const output = await execute([...generator.start, service.url, rw.key!] as unknown as Command);
        expect(JSON.parse(output)).to.deep.equal({
          ...{ count: 2, id: 1, score: 0.25, kernel_version: 2, code: 'collection_not_found' },
          events: [
            ['insert', 0],
            ['insert', 0],
          ],
        });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }).timeout(TOOL_MS);
});

/** Uses the user's caches of the tools, but keeps their additions away from this repository's modules. */
const environmentIn = (folder: string): NodeJS.ProcessEnv => ({
  ...process.env,
  ...{ GOFLAGS: '-mod=mod', GOWORK: 'off', TMPDIR: join(folder, 'tmp') },
});
