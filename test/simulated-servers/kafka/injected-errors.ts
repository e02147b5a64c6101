/** Error codes that brokers send for reasons which are not simulated. */

export interface InjectedError {
  readonly code: number;
  /** Where the response has partitions: of this one only, of all of them, or of the whole response. */
  readonly of?: number | "each" | "all";
}

/** Sets the error of a response that a broker would give. */
export function spoil<Response extends object>(
  response: Response,
  injected: InjectedError | undefined,
): Response {
  if (injected === undefined) return response;
  const { code, of = "each" } = injected;
  if (!("topics" in response) || of === "all") return { ...response, error: code };
  return { ...response, topics: setErrors(response.topics, { code, of }) };
}

function setErrors(value: unknown, { code, of }: Required<InjectedError>): unknown {
  if (Array.isArray(value)) return value.map((one) => setErrors(one, { code, of }));
  if (typeof value !== "object" || value === null || Buffer.isBuffer(value)) return value;
  if ("error" in value && "partition" in value)
    return of === "each" || of === value.partition ? { ...value, error: code } : value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, setErrors(one, { code, of })]));
}
