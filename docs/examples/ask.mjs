/** Answers a question from a file of passages: `node ask.mjs handbook.txt 'How many days of holiday are there?'`. */
import { readFile } from 'node:fs/promises';
import { Vouch } from '@vouch/client';

const { MODELS_URL, MODELS_KEY = '', EMBEDDING_MODEL, CHAT_MODEL, VOUCH_URL, VOUCH_KEY } = process.env;
const [file, question] = process.argv.slice(2);
const fail = (why) => console.error(why) ?? process.exit(1);
process.once('uncaughtException', ({ message }) => fail(message));
if (!MODELS_URL || !EMBEDDING_MODEL || !CHAT_MODEL) fail('set MODELS_URL, EMBEDDING_MODEL and CHAT_MODEL');
if (!question) fail('usage: node ask.mjs FILE QUESTION');

const headers = { 'content-type': 'application/json', authorization: `Bearer ${MODELS_KEY}` };
async function model(path, body) {
  const answer = await fetch(MODELS_URL + path, { method: 'POST', headers, body: JSON.stringify(body) }).catch(
    ({ message, cause }) =>
      fail(`no answer from MODELS_URL=${MODELS_URL}: ${cause?.message || cause?.code || message}`),
  );
  if (!answer.ok) fail(`${MODELS_URL}${path} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
const embed = (input) => model('/v1/embeddings', { model: EMBEDDING_MODEL, input });

const passages = (await readFile(file, 'utf8')).trim().split(/\n{2,}/);
const vectors = (await embed(passages)).data.map(({ embedding }) => embedding);
const vouch = new Vouch({ url: VOUCH_URL ?? 'http://127.0.0.1:8080', apiKey: VOUCH_KEY });
const cosine = { dimension: vectors[0].length, metric: 'squared_l2', normalise: true };
await vouch.createCollection({ name: 'handbook', ...cosine, text: { language: 'english' } });
const handbook = vouch.collection('handbook');
await handbook.insertMany(passages.map((text, i) => ({ externalId: `${i + 1}`, values: vectors[i], text })));

const query = (await embed([question])).data[0].embedding;
const byBoth = { query, queryText: question, hybrid: { fusion: 'rrf' } };
const { results } = await handbook.search({ ...byBoth, k: 2, with: ['text'] });
const context = results.map(({ externalId, text }) => `[${externalId}] ${text}`).join('\n');
const system = { role: 'system', content: `Answer from these passages alone, with their numbers:\n${context}` };
const messages = [system, { role: 'user', content: question }];
const { choices } = await model('/v1/chat/completions', { model: CHAT_MODEL, messages });
console.log(choices[0].message.content);
