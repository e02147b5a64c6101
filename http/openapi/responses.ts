import { errorBodySchema } from "../../schemas/error.ts";
import { statuses, type ErrorCode } from "../framework/errors.ts";
import { listFailures, meanings } from "../framework/failures.ts";
import type { Components } from "./components.ts";
import type { Operation, ReplyDescription } from "../framework/operation.ts";

/** Every answer of an operation, by status. */
export function buildResponses(operation: Operation, components: Components): Record<string, object> {
  const responses: Record<string, object> = {};
  for (const [status, codes] of listFailures(operation)) {
    const name = responseName(operation, status, codes);
    responses[status] = components.response(name, failure(status, codes, components));
  }
  for (const [status, reply] of Object.entries(operation.replies))
    responses[status] = success(Number(status), reply, components);
  return responses;
}

function success(
  status: number,
  { description, schema, mediaType }: ReplyDescription,
  components: Components,
): object {
  // What an operation itself answers with the status of a failure has nothing of a failure's headers.
  const names = headersOf(status < 400 ? status : 200);
  const headers = Object.fromEntries(names.map((name) => [name, components.header(name)]));
  if (mediaType !== undefined)
    return { description, headers, content: { [mediaType]: { schema: { type: "string" } } } };
  if (schema === undefined) return { description: `${description} The response has no body.`, headers };
  return { description, headers, content: { "application/json": { schema: components.schema(schema) } } };
}

function failure(status: number, codes: readonly ErrorCode[], components: Components): object {
  const code = { enum: codes };
  return {
    description: codes.map((one) => `- \`${one}\`: ${meanings[one]}`).join("\n"),
    headers: Object.fromEntries(headersOf(status).map((name) => [name, components.header(name)])),
    content: {
      "application/json": {
        schema: {
          allOf: [components.schema(errorBodySchema), { properties: { error: { properties: { code } } } }],
        },
      },
    },
  };
}

/** Answers with a few codes are the same for all the operations that have them. */
function responseName({ id }: Operation, status: number, codes: readonly ErrorCode[]): string {
  const usual = codes.length <= 2 && codes.every((code) => statuses[code] === status);
  return usual ? codes.map(inPascalCase).join("Or") : `${id}-${status}`;
}

const inPascalCase = (code: ErrorCode): string =>
  code.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

function headersOf(status: number): readonly string[] {
  const own: Readonly<Record<number, readonly string[]>> = {
    302: ["Location"],
    401: ["WWW-Authenticate"],
    405: ["Allow"],
    429: ["Retry-After"],
    503: ["Retry-After"],
  };
  return ["X-Request-Id", ...(own[status] ?? [])];
}
