import { randomBytes } from "node:crypto";

/** A device's registration, with `{token}` in place of its token. */
export interface RequestTemplate {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const toBasicAuthorization = (name: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});

/** As long as Apple's tokens: 64 hexadecimal digits. */
export const randomToken = (): string => randomBytes(32).toString("hex");

export const createBody = ({ body }: RequestTemplate, token: string): string =>
  body.replaceAll("{token}", token);

/**
 * The raw HTTP request, still with `{token}`. Content-Length fits, because all tokens have the same length.
 */
export function createRawRequest(url: URL, template: RequestTemplate): string {
  const lines = [
    `POST ${template.path} HTTP/1.1`,
    `Host: ${url.host}`,
    ...Object.entries(template.headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(createBody(template, randomToken()))}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n${template.body}`;
}

/** Sends one registration and returns the status. Throws if the request fails. */
export async function register(url: URL, template: RequestTemplate, token: string): Promise<number> {
  const { path, headers } = template;
  const response = await fetch(new URL(path, url), {
    method: "POST",
    headers,
    body: createBody(template, token),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Parse Server responds with 201 for a new registration. */
export const isAccepted = (status: number): boolean => status === 200 || status === 201;
