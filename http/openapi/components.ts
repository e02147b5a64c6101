import { publishSchema, getSchemaName } from "@topicsync/lib/published-schema";

interface Reference {
  readonly $ref: string;
}

/** The components of a document. Each method adds one and returns a reference to it. */
export interface Components {
  schema(schema: object): Reference;
  response(name: string, response: object): Reference;
  header(name: string): Reference;
  all(): Readonly<Record<string, object>>;
}

const text = { type: "string" } as const;

/** Response headers specific to this API. */
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
  ETag: {
    description: "The version, for `If-Match` (RFC 9110, section 8.8.3).",
    required: true,
    schema: { ...text, pattern: '^"[1-9][0-9]*"$' },
  },
  "Topicsync-Warning": {
    description:
      "A condition that none of the last events meets, as `checkTopic` reports it: its code, its filter and a message. Once for each, at most three times; characters other than ASCII are written as `\\u{…}`.",
    schema: text,
  },
  Allow: {
    description: "Methods supported by the path.",
    required: true,
    schema: { ...text, pattern: "^[A-Z]+(, [A-Z]+)*$" },
  },
};

export function createComponents(): Components {
  const added = { headers: {}, responses: {}, schemas: {} };
  const add = (kind: keyof typeof added, name: string, part: object): Reference => {
    added[kind] = { ...added[kind], [name]: part };
    return { $ref: `#/components/${kind}/${name}` };
  };
  return {
    schema: (schema) => add("schemas", getSchemaName(schema), publishSchema(schema)),
    response: (name, response) => add("responses", name, response),
    header: (name) => add("headers", name, headers[name] ?? {}),
    all: () => added,
  };
}
