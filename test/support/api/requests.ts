/** Draws requests from the OpenAPI document alone: valid ones, and valid ones with one defect. */
import fc, { type Arbitrary } from 'fast-check';
import type { ApiDocument, JsonSchema, Operation, Parameter } from './document.js';

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

/** Values that exist in a service, by name of the field or parameter; other values of the schema are drawn too. */
export type Pools = Readonly<Record<string, readonly unknown[]>>;

/** Largest number of list items, characters and levels that are drawn where the schema allows more. */
const ITEMS_MAX = 4;
const CHARS_MAX = 40;
const JSON_DEPTH = 3;
const POOL_WEIGHT = 6;

export class RequestMaker {
  constructor(
    private readonly api: ApiDocument,
    private readonly pools: Pools,
  ) {}

  /** Requests that the document allows. */
  fit(operation: Operation): Arbitrary<ApiRequest> {
    const { parameters, body } = operation;
    return fc
      .record({
        values: fc.record(
          Object.fromEntries(parameters.map((parameter) => [parameter.name, this.#parameter(parameter)])),
        ),
        content: body === undefined ? fc.constant(undefined) : this.#body(body),
      })
      .map(({ values, content }) => request(operation, values, content));
  }

  /** Requests that the document forbids by one parameter or by the body. Undefined if the operation has neither. */
  unfit(operation: Operation): Arbitrary<ApiRequest> | undefined {
    const { parameters, body } = operation;
    const typed = parameters.filter(({ in: place, schema }) => place !== 'header' && this.#isBounded(schema));
    const broken = [
      ...typed.map((parameter) => this.#withParameter(operation, parameter)),
      ...(body?.schema === undefined || body.schema.format === 'binary'
        ? []
        : [this.#withBody(operation, body.schema)]),
    ];
    return broken.length === 0 ? undefined : fc.oneof(...broken);
  }

  #withParameter(operation: Operation, parameter: Parameter): Arbitrary<ApiRequest> {
    const others = operation.parameters.filter((other) => other !== parameter);
    return fc
      .record({
        values: fc.record(Object.fromEntries(others.map((other) => [other.name, this.#parameter(other)]))),
        wrong: fc.oneof(
          fc.constantFrom('x', '-1', '1.5', '1e2', '0x1', ' ', '+1', '1e400', '9007199254740992', '%', '{}'),
          // Clients remove the segments `.` and `..` from a URL.
          fc.string({ minLength: 1 }).filter((drawn) => drawn !== '.' && drawn !== '..'),
        ),
        content: operation.body === undefined ? fc.constant(undefined) : this.#body(operation.body),
      })
      .filter(
        ({ wrong }) =>
          this.api.mismatch(parameter.schema, readAs(this.api.resolved(parameter.schema), wrong)) !== undefined,
      )
      .map(({ values, wrong, content }) => request(operation, { ...values, [parameter.name]: wrong }, content));
  }

  #withBody(operation: Operation, schema: JsonSchema): Arbitrary<ApiRequest> {
    const wrong = this.#value(schema, 'body').chain((fit) => this.#spoilt(fit as Record<string, unknown>));
    return fc
      .record({
        values: fc.record(
          Object.fromEntries(operation.parameters.map((parameter) => [parameter.name, this.#parameter(parameter)])),
        ),
        wrong: wrong.filter((value) => this.api.mismatch(schema, value) !== undefined),
      })
      .map(({ values, wrong: value }) => request(operation, values, JSON.stringify(value)));
  }

  /** The body without one field, with another value in one, or replaced by another value. */
  #spoilt(fit: Record<string, unknown>): Arbitrary<unknown> {
    const anything = fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.constantFrom(-1, 1.5, 2 ** 53, 1e300, '', [], [null], {}),
    );
    const names = Object.keys(fit);
    if (names.length === 0) return anything;
    const name = fc.constantFrom(...names);
    return fc.oneof(
      { weight: 1, arbitrary: anything },
      { weight: 2, arbitrary: name.map((dropped) => ({ ...fit, [dropped]: undefined })) },
      { weight: 6, arbitrary: fc.tuple(name, anything).map(([changed, value]) => ({ ...fit, [changed]: value })) },
    );
  }

  #isBounded(schema: JsonSchema): boolean {
    const { type, pattern, oneOf, enum: values } = this.api.resolved(schema);
    return type === 'integer' || [pattern, oneOf, values].some((bound) => bound !== undefined);
  }

  #parameter({ name, required, schema }: Parameter): Arbitrary<unknown> {
    const value = this.#value(schema, name);
    return required ? value : fc.option(value, { nil: undefined });
  }

  #body({ required, schema }: NonNullable<Operation['body']>): Arbitrary<string | Uint8Array | undefined> {
    const content: Arbitrary<string | Uint8Array> =
      schema === undefined || schema.format === 'binary'
        ? fc.uint8Array({ maxLength: 64 })
        : this.#value(schema, 'body').map((value) => JSON.stringify(value));
    return required ? content : fc.option(content, { nil: undefined });
  }

  #value(schema: JsonSchema, name: string): Arbitrary<unknown> {
    const pool = this.pools[name];
    const any = this.#ofSchema(this.api.resolved(schema), name);
    if (pool === undefined) return any;
    return fc.oneof({ weight: POOL_WEIGHT, arbitrary: fc.constantFrom(...pool) }, { weight: 1, arbitrary: any });
  }

  #ofSchema(schema: JsonSchema, name: string): Arbitrary<unknown> {
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    if (schema.oneOf !== undefined) return fc.oneof(...schema.oneOf.map((one) => this.#value(one, '')));
    switch (schema.type) {
      case 'null':
        return fc.constant(null);
      case 'boolean':
        return fc.boolean();
      case 'integer':
        return integer(schema);
      case 'number':
        return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
      case 'string':
        return text(schema);
      case 'array':
        return this.#array(schema, name);
      case 'object':
        return this.#object(schema);
      default:
        return fc.jsonValue({ maxDepth: JSON_DEPTH });
    }
  }

  #array(
    { items = {}, minItems = 0, maxItems = Number.POSITIVE_INFINITY }: JsonSchema,
    name: string,
  ): Arbitrary<unknown> {
    const maxLength = Math.max(minItems, Math.min(maxItems, ITEMS_MAX));
    return fc.array(this.#value(items, `${name}[]`), { minLength: minItems, maxLength });
  }

  #object({ properties = {}, required = [], additionalProperties }: JsonSchema): Arbitrary<unknown> {
    const named = Object.entries(properties).map(([name, schema]) => [name, this.#value(schema, name)]);
    if (named.length === 0 && additionalProperties)
      return fc.dictionary(fc.string({ maxLength: 6 }), this.#value(additionalProperties, ''), { maxKeys: ITEMS_MAX });
    return fc.record(Object.fromEntries(named), { requiredKeys: required as never[] });
  }
}

function integer({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: JsonSchema): Arbitrary<number> {
  const least = Math.max(minimum, Number.MIN_SAFE_INTEGER);
  return fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: least, max: Math.min(maximum, least + 8) }) },
    { weight: 1, arbitrary: fc.maxSafeInteger().map((drawn) => least + (Math.abs(drawn) % (maximum - least + 1))) },
  );
}

function text({ pattern, format, minLength = 0, maxLength = CHARS_MAX }: JsonSchema): Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  if (format === 'date-time')
    return fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((date) => date.toISOString());
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, CHARS_MAX) });
}

const readAs = ({ type }: JsonSchema, written: string): unknown =>
  type === 'integer' && /^\d+$/.test(written) ? Number(written) : written;

function request(
  operation: Operation,
  values: Readonly<Record<string, unknown>>,
  body: ApiRequest['body'],
): ApiRequest {
  const { method, parameters } = operation;
  const given = parameters.filter(({ name }) => values[name] !== undefined);
  const written = ({ name }: Parameter): string => encodeURIComponent(String(values[name]));
  const inPlace = (place: Parameter['in']): readonly Parameter[] => given.filter((parameter) => parameter.in === place);
  const path = inPlace('path').reduce(
    (filled, parameter) => filled.replace(`{${parameter.name}}`, written(parameter)),
    operation.path,
  );
  const query = inPlace('query').map((parameter) => `${parameter.name}=${written(parameter)}`);
  const headers = Object.fromEntries(
    inPlace('header').map(({ name }) => [name, encodeURIComponent(String(values[name]))]),
  );
  return {
    method,
    path: query.length === 0 ? path : `${path}?${query.join('&')}`,
    headers: body === undefined ? headers : { ...headers, 'content-type': operation.body!.contentType },
    body,
  };
}
