import type { Operation } from "../../operations/framework/operation.ts";

/** What an operation is called with. */
export interface OperationRequest {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** A text is for an operation that parses its body itself. */
  readonly body?: object | string;
  /** The version that what is changed must have. */
  readonly ifMatch?: number | "*" | undefined;
}

/** The parameters of a query as in a URL. */
export const toTexts = (query: NonNullable<OperationRequest["query"]>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );

export interface OperationResult<T> {
  /** The body of the response; undefined if it has none. */
  readonly json: T;
  readonly warnings: readonly string[];
}

/** Calls operations: of a running service, or in this process with the database of the settings. */
export interface OperationClient {
  /** Throws a RequestError, UnavailableError and ConfigurationError. */
  call<T>(operation: Operation, request?: OperationRequest): Promise<OperationResult<T>>;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly abort: AbortSignal;
}

/** Reads the pages of a list one after another. */
export async function* readPages<Page extends { readonly next?: string | null }>(
  client: OperationClient,
  operation: Operation,
  { query, ...request }: OperationRequest,
) {
  let after: string | undefined;
  do {
    const { json } = await client.call<Page>(operation, { ...request, query: { ...query, after } });
    yield json;
    after = json.next ?? undefined;
  } while (after !== undefined);
}
