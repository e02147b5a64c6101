import { publishedSchema, schemaName } from "../../src/lib/published-schema.ts";

export interface Reference {
  readonly $ref: string;
}

/** The shared parts of a document: each is kept once, under its name, and referred to. */
export interface Components {
  schema(schema: object): Reference;
  response(name: string, response: object): Reference;
  header(name: string): Reference;
  /** All that were referred to. */
  all(): Readonly<Record<string, object>>;
}

const text = { type: "string" } as const;

/** The headers that answers carry beside the usual ones. */
const headers: Readonly<Record<string, object>> = {
  "X-Request-Id": {
    description: "Identifies the request in the service's log.",
    required: true,
    schema: { ...text, pattern: "^[\\w.-]{1,64}$" },
  },
  "Retry-After": {
    description: "Seconds to wait before retrying.",
    required: true,
    schema: { ...text, pattern: "^[1-9][0-9]*$" },
  },
  "WWW-Authenticate": {
    description: "Authentication challenge (RFC 9110, section 11.6.1).",
    required: true,
    schema: { ...text, minLength: 1 },
  },
  Location: {
    description: "Redirect target (RFC 9110, section 10.2.2).",
    required: true,
    schema: { ...text, minLength: 1 },
  },
  Allow: {
    description: "Methods supported by the path.",
    required: true,
    schema: { ...text, pattern: "^[A-Z]+(, [A-Z]+)*$" },
  },
};

export function createComponents(): Components {
  const kept = { headers: {}, responses: {}, schemas: {} };
  const keep = (kind: keyof typeof kept, name: string, part: object): Reference => {
    kept[kind] = { ...kept[kind], [name]: part };
    return { $ref: `#/components/${kind}/${name}` };
  };
  return {
    schema: (schema) => keep("schemas", schemaName(schema), publishedSchema(schema)),
    response: (name, response) => keep("responses", name, response),
    header: (name) => keep("headers", name, headers[name] ?? {}),
    all: () => kept,
  };
}
