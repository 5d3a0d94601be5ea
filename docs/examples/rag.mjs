/**
 * Retrieval for a language model with LangChain.js: `node rag.mjs 'Which city is the capital of Spain?'`. The embedding of a text is the
 * mean of the vectors of its words. To use another embedding, replace `MeanOfWords`.
 */
import { Document } from '@langchain/core/documents';
import { Embeddings } from '@langchain/core/embeddings';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { Vouch } from '@vouch/client';
import { VouchVectorStore } from '@vouch/client/langchain';
import { DIMENSION, WORDS } from './glove/vectors.mjs';

process.once('uncaughtException', ({ message }) => console.error(message) ?? process.exit(1));

class MeanOfWords extends Embeddings {
  async embedDocuments(texts) {
    return texts.map((text) => {
      const vectors = (text.toLowerCase().match(/[a-z]+/g) ?? []).flatMap((word) => WORDS.get(word) ?? []);
      return Array.from({ length: DIMENSION }, (_, i) =>
        vectors.reduce((sum, vector) => sum + vector[i] / vectors.length, 0),
      );
    });
  }

  async embedQuery(text) {
    return (await this.embedDocuments([text]))[0];
  }
}

const PASSAGES = {
  coffee:
    'Coffee and sugar were the products that farmers of the coast exported; sugar and orange plants need hot climate.',
  aviation:
    'The airport opened in july; airlines fly daily, and the flight of a captain and his aircraft takes six hours.',
  courts:
    'The supreme court is where judges hear an appeal; lawyers and a witness speak, and the judges decide on justice.',
  football:
    'The coach of the squad praised a defender: the club won the league cup, and the season ends with the championship.',
  medicine:
    'Doctors and patients: a cancer treatment is a drug and much care, and healthy patients recover from the injury.',
};

const vouch = new Vouch({ url: process.env.VOUCH_URL ?? 'http://127.0.0.1:8080', apiKey: process.env.VOUCH_KEY });
const documents = Object.entries(PASSAGES).map(
  ([id, pageContent]) => new Document({ id, pageContent, metadata: { id } }),
);
const store = await VouchVectorStore.fromDocuments(documents, new MeanOfWords({}), {
  ...{ vouch, collection: 'passages', normalise: true },
});

const question = process.argv[2];
const context = await store.asRetriever({ k: 2 }).invoke(question);
const prompt = ChatPromptTemplate.fromMessages([
  ['system', 'Answer from this context alone:\n{context}'],
  ['human', '{question}'],
]);
const messages = await prompt.formatMessages({
  question,
  context: context.map(({ id, pageContent }) => `[${id}] ${pageContent}`).join('\n'),
});
// Here a chat model would be called with these messages.
for (const message of messages) console.log(`${message.getType()}: ${message.content}`);
