import { publishedSchema } from "../../src/lib/published-schema.ts";
import { version } from "../../src/lib/version.ts";
import { createComponents, type Components } from "./components.ts";
import { buildResponses } from "./responses.ts";
import type { Operation } from "../framework/operation.ts";

/** How callers can show who they are: security schemes of OpenAPI, by name. */
export type SecuritySchemes = Readonly<Record<string, object>>;

/** HTTP Basic, and sessions of the console: what is always understood. */
export const usualSchemes: SecuritySchemes = {
  basic: {
    type: "http",
    scheme: "basic",
    description: "User name and password of a topicsync user (RFC 7617).",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "topicsync_session",
    description:
      "Session cookie set by `signIn`. Over TLS the cookie is named `__Host-topicsync_session`. Requests other than GET and HEAD also need the `X-CSRF-Token` header.",
  },
};

/** Tokens of an OpenID provider, where one is set up. */
export const bearerScheme: SecuritySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "Access token issued by the configured OpenID provider (RFC 6750).",
  },
};

/** A document of OpenAPI 3.1, as far as its readers here need to know it. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly object[];
  readonly tags: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: object;
}

/** Describes operations as a document of OpenAPI 3.1: the contract of the HTTP facade. */
export function openApiDocument(
  operations: readonly Operation[],
  schemes: SecuritySchemes = usualSchemes,
): OpenApiDocument {
  const components = createComponents();
  const paths: Record<string, Record<string, object>> = {};
  for (const one of operations) {
    for (const path of one.paths) {
      const described = describe(one, path, { components, schemes });
      paths[path] = { ...paths[path], [one.method.toLowerCase()]: described };
    }
  }
  const tags = new Set(operations.map(({ tag }) => tag));
  return {
    openapi: "3.1.1",
    info: {
      title: "topicsync",
      version,
      summary: "Event topics and push tokens",
      description,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "This server" }],
    tags: [...tags].map((name) => ({ name, ...tagOf(name) })),
    paths,
    components: { securitySchemes: schemes, ...components.all() },
  };
}

const description = `The operations under \`/api/now\` and \`/api/svc_api_notif_mgmt\` have a path for each version and one without, which means the latest. All versions behave alike today.
An unknown path returns 404. An unsupported method returns 405 with \`Allow\`.
Every error has the same body, \`ErrorBody\`; its \`code\` is stable and meant for programs. Every response has an \`X-Request-Id\`: the one
sent with the request if it is 1 to 64 letters, digits, \`.\`, \`_\` or \`-\`, otherwise a new one.`;

export const tagDescriptions: Readonly<Record<string, string>> = {
  push: "Push tokens (installations).",
  topics: "Event topics.",
  "dead letters": "Rejected records, and how to replay them.",
  users: "Users and their roles.",
  catalog: "Push applications and platforms.",
  operation: "Health, status and metrics.",
  console: "The console, and signing in to it.",
  documentation: "This document and the page that shows it.",
};

const tagOf = (name: string): object =>
  tagDescriptions[name] === undefined ? {} : { description: tagDescriptions[name] };

interface Context {
  readonly components: Components;
  readonly schemes: SecuritySchemes;
}

function describe(operation: Operation, path: string, { components, schemes }: Context): object {
  const { summary, tag, access, body } = operation;
  const parameters = [...pathParameters(operation, path), ...queryParameters(operation)];
  return {
    operationId: operationId(operation, path),
    summary,
    description: `${operation.description}${needs(operation)}`,
    tags: [tag],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: components.schema(body.schema) } },
          },
        }),
    responses: buildResponses(operation, components),
    security: access === "anybody" ? [] : Object.keys(schemes).map((name) => ({ [name]: [] })),
  };
}

/** Of the first path the operation's own id; of the others with the segments that they have beyond it. */
function operationId({ id, paths: [first = ""] }: Operation, path: string): string {
  const usual = new Set(first.split("/"));
  const others = path.split("/").filter((segment) => !usual.has(segment));
  return [id, ...others.map((segment) => segment.replaceAll(/\W/g, ""))].join("_");
}

const needs = ({ access }: Operation): string =>
  access === "anybody" || access === "user" ? "" : ` Requires the role \`${access}\`.`;

const pathParameters = ({ parameters = {} }: Operation, path: string): object[] =>
  Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    ...(parameters[name] === undefined ? {} : { description: parameters[name] }),
    schema: { type: "string", minLength: 1 },
  }));

const queryParameters = ({ query = [] }: Operation): object[] =>
  query.map(({ name, description, schema }) => ({
    name,
    in: "query",
    description,
    schema: publishedSchema(schema),
  }));
