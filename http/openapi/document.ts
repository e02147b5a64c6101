import { publishSchema } from "@topicsync/lib/published-schema";
import { version } from "../../src/config/version.ts";
import { createComponents, type Components } from "./components.ts";
import { ifMatchPattern } from "../../src/operations/framework/if-match.ts";
import { permitNulls } from "../framework/null-members.ts";
import { buildResponses } from "./responses.ts";
import type { Operation } from "../../src/operations/framework/operation.ts";

/** OpenAPI security schemes by name. */
export type SecuritySchemes = Readonly<Record<string, object>>;

/** HTTP Basic, API keys and console sessions, which are always available. */
export const defaultSchemes: SecuritySchemes = {
  basic: {
    type: "http",
    scheme: "basic",
    description: "User name and password of a topicsync user (RFC 7617).",
  },
  key: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "tsk_…",
    description: "API key created by `createKey`.",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "topicsync_session",
    description:
      "Session cookie set by `signIn`. Over TLS the cookie is named `__Host-topicsync_session`, or `__Secure-topicsync_session` if the service has a path. Requests other than GET and HEAD also need the `X-CSRF-Token` header.",
  },
};

/** Tokens of an OpenID provider, if one is configured. */
export const bearerScheme: SecuritySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "Access token issued by the configured OpenID provider (RFC 6750).",
  },
};

/** An OpenAPI 3.1 document, as far as it is typed here. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly object[];
  readonly tags: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: object;
}

export function buildOpenApiDocument(
  operations: readonly Operation[],
  schemes: SecuritySchemes = defaultSchemes,
  basePath = "",
): OpenApiDocument {
  const components = createComponents();
  const paths: Record<string, Record<string, object>> = {};
  for (const one of operations) {
    for (const path of one.paths) {
      const described = describeOperation(one, path, { components, schemes });
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
    servers: [{ url: basePath || "/", description: "This server" }],
    tags: [...tags].map((name) => ({ name, ...toTag(name) })),
    paths,
    components: { securitySchemes: schemes, ...components.all() },
  };
}

const description = `The operations under \`/api/now\` and \`/api/svc_api_notif_mgmt\` have a path for each version and one without, which means the latest. All versions behave alike today.
An unknown path returns 404. An unsupported method returns 405 with \`Allow\`.
Every error has the same body, \`ErrorBody\`; its \`code\` is stable and meant for programs. Every response has an \`X-Request-Id\`: a new one,
or the one that a trusted proxy sent if it is 1 to 64 letters, digits, \`.\`, \`_\` or \`-\`.`;

const tagDescriptions: Readonly<Record<string, string>> = {
  push: "Push tokens (installations).",
  topics: "Event topics.",
  "topic sets": "Sets of topics that are managed from files.",
  "dead letters": "Rejected records, and how to replay them.",
  users: "Users and their rights and roles.",
  keys: "API keys of programs.",
  catalog: "Push applications and platforms.",
  events: "The records of the events topic, and what the router did with them.",
  "event types": "What the events of each type look like.",
  operation: "Health, status and metrics.",
  console: "The console, and signing in to it.",
  documentation: "This document and the page that shows it.",
};

const toTag = (name: string): object =>
  tagDescriptions[name] === undefined ? {} : { description: tagDescriptions[name] };

interface Context {
  readonly components: Components;
  readonly schemes: SecuritySchemes;
}

function describeOperation(operation: Operation, path: string, { components, schemes }: Context): object {
  const { summary, tag, body } = operation;
  const parameters = [
    ...toPathParameters(operation, path),
    ...toQueryParameters(operation),
    ...toIfMatchParameter(operation),
  ];
  return {
    operationId: toOperationId(operation, path),
    summary,
    description: `${operation.description}${describeAccess(operation)}`,
    tags: [tag],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: components.schema(permitNulls(body.schema)) } },
          },
        }),
    responses: buildResponses(operation, components),
    security: describeSecurity(operation, Object.keys(schemes)),
  };
}

/** An empty requirement makes the others optional. */
function describeSecurity({ access, optionalLogin }: Operation, schemes: readonly string[]): object[] {
  const toRequirements = (names: readonly string[]) => names.map((name) => ({ [name]: [] }));
  if (access !== "anybody") return toRequirements(schemes);
  return optionalLogin ? [{}, ...toRequirements(schemes.filter((name) => name !== "session"))] : [];
}

/** The operation's id for its first path; for others it is followed by the segments that the first lacks. */
function toOperationId({ id, paths: [first = ""] }: Operation, path: string): string {
  const segments = new Set(first.split("/"));
  const others = path.split("/").filter((segment) => !segments.has(segment));
  return [id, ...others.map((segment) => segment.replaceAll(/\W/g, ""))].join("_");
}

function describeAccess({ access, perNamespace }: Operation): string {
  if (access === "anybody" || access === "user") return "";
  const where = perNamespace ? "; it may be limited to namespaces" : "";
  return ` Requires the right \`${access}\`${where}.`;
}

const toPathParameters = ({ parameters = {} }: Operation, path: string): object[] =>
  Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    ...(parameters[name] === undefined ? {} : { description: parameters[name] }),
    schema: { type: "string", minLength: 1 },
  }));

const toQueryParameters = ({ query }: Operation): object[] =>
  (query?.parameters ?? []).map(({ name, description, schema }) => ({
    name,
    in: "query",
    description,
    // Separated by commas.
    ...("items" in schema && { explode: false }),
    schema: publishSchema(schema),
  }));

const toIfMatchParameter = ({ ifMatch }: Operation): object[] =>
  ifMatch === undefined
    ? []
    : [
        {
          name: "If-Match",
          in: "header",
          required: ifMatch === "required",
          description:
            'The version to change: the `ETag` of the response that it was read from, such as `"3"`. `*` changes any version.',
          schema: { type: "string", pattern: ifMatchPattern.source },
        },
      ];
