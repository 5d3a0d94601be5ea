/** Reads the OpenAPI document like a client: its operations, and whether it allows an answer. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Answer } from '../launch/client.js';

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly JsonSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | false;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: JsonSchema;
}

interface Response {
  readonly headers: Readonly<Record<string, { readonly required?: boolean; readonly schema: JsonSchema }>>;
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
}

export interface Operation {
  readonly method: string;
  readonly path: string;
  /** Scope of the key that the operation needs; null: no key. */
  readonly scope: string | null;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly required: boolean; readonly contentType: string; readonly schema?: JsonSchema } | undefined;
  readonly responses: Readonly<Record<string, Response>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, WrittenOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<'NotFound' | 'MethodNotAllowed', Response>>;
  };
}

interface WrittenOperation extends Pick<Operation, 'parameters' | 'responses'> {
  readonly 'x-required-scope'?: string;
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, object>> };
}

export class ApiDocument {
  readonly operations: readonly Operation[];
  readonly #document: Document;
  /** Schemas of the document's components, with only the fields that they name. */
  readonly #closed: Readonly<Record<string, JsonSchema>>;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, addUsedSchema: false });
  readonly #validators = new Map<JsonSchema, ValidateFunction>();

  constructor(document: unknown) {
    this.#document = document as Document;
    this.#closed = Object.fromEntries(
      Object.entries(this.#document.components.schemas).map(([name, schema]) => [
        name,
        name === 'ErrorResponse' ? schema : closed(schema),
      ]),
    );
    this.operations = Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, written]) => operationOf(method.toUpperCase(), path, written)),
    );
  }

  /** The schema that a reference points to, or the schema itself. */
  resolved(schema: JsonSchema): JsonSchema {
    if (schema.$ref === undefined) return schema;
    return this.#document.components.schemas[schema.$ref.split('/').at(-1)!]!;
  }

  /** The difference between `value` and the schema; undefined if it conforms. */
  mismatch(schema: JsonSchema, value: unknown): string | undefined {
    return this.#mismatch(schema, value, this.#document.components.schemas);
  }

  #mismatch(schema: JsonSchema, value: unknown, schemas: Document['components']['schemas']): string | undefined {
    let validate = this.#validators.get(schema);
    if (validate === undefined) {
      validate = this.#ajv.compile({ ...schema, components: { schemas } });
      this.#validators.set(schema, validate);
    }
    return validate(value) ? undefined : this.#ajv.errorsText(validate.errors);
  }

  /** Throws an Error if the operation does not document such an answer. */
  assertPromised({ responses }: Operation, answer: Answer): void {
    const response = responses[answer.status];
    if (response === undefined)
      throw new Error(`the document does not list this status; it lists ${Object.keys(responses)}`);
    this.#assertAs(response, answer);
  }

  assertMethodNotAllowed(answer: Answer): void {
    if (answer.status !== 405) throw new Error('expected 405');
    this.#assertAs(this.#document.components.responses.MethodNotAllowed, answer);
  }

  #assertAs(response: Response, answer: Answer): void {
    for (const [name, { required, schema }] of Object.entries(response.headers)) {
      const value = answer.headers.get(name);
      if (value === null && required) throw new Error(`the header ${name} is missing`);
      if (value === null) continue;
      const mismatch = this.mismatch(schema, schema.type === 'integer' ? Number(value) : value);
      if (mismatch !== undefined) throw new Error(`the header ${name} is ${value}: ${mismatch}`);
    }
    const [promised] = Object.entries(response.content ?? {});
    if (promised === undefined) {
      if (answer.bytes.length > 0) throw new Error('the document promises no body');
      return;
    }
    const [contentType, { schema }] = promised;
    const actual = answer.headers.get('content-type')?.split(';')[0];
    if (actual !== contentType) throw new Error(`the content type is ${actual}, not ${contentType}`);
    const body = contentType === 'application/json' ? JSON.parse(answer.text) : answer.text;
    const mismatch = schema && this.#mismatch(schema, body, this.#closed);
    if (mismatch !== undefined) throw new Error(`the body differs from the document: ${mismatch}`);
  }
}

/** The schema with only the fields that its objects name. */
function closed(schema: JsonSchema): JsonSchema {
  const of = (one: JsonSchema): JsonSchema => closed(one);
  const properties = Object.entries(schema.properties ?? {}).map(([name, one]) => [name, of(one)]);
  return {
    ...schema,
    ...(schema.items === undefined ? {} : { items: of(schema.items) }),
    ...(schema.oneOf === undefined ? {} : { oneOf: schema.oneOf.map(of) }),
    ...(properties.length === 0
      ? {}
      : { properties: Object.fromEntries(properties), additionalProperties: schema.additionalProperties ?? false }),
  };
}

function operationOf(method: string, path: string, written: WrittenOperation): Operation {
  const { parameters, responses, requestBody } = written;
  const [content] = Object.entries(requestBody?.content ?? {});
  return {
    method,
    path,
    scope: written['x-required-scope'] ?? null,
    parameters,
    responses,
    body: content && { required: requestBody!.required, contentType: content[0], ...content[1] },
  };
}
