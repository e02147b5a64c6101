import { randomBytes } from "node:crypto";

/** A registration as a device sends it, in parts. In the body `{token}` stands for the device's token. */
export interface RequestTemplate {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const basicAuthorization = (name: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});

/** A token as long as those of Apple: 64 hexadecimal digits. */
export const randomToken = (): string => randomBytes(32).toString("hex");

export const bodyFor = ({ body }: RequestTemplate, token: string): string =>
  body.replaceAll("{token}", token);

/** The whole request as it goes over the wire, its token still open: every token is of the same length. */
export function rawRequest(url: URL, template: RequestTemplate): string {
  const lines = [
    `POST ${template.path} HTTP/1.1`,
    `Host: ${url.host}`,
    ...Object.entries(template.headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(bodyFor(template, randomToken()))}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n${template.body}`;
}

/** Sends one registration and gives the status of the answer. Throws when there is none. */
export async function register(url: URL, template: RequestTemplate, token: string): Promise<number> {
  const { path, headers } = template;
  const response = await fetch(new URL(path, url), {
    method: "POST",
    headers,
    body: bodyFor(template, token),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Whether a registration was accepted: Parse Server answers a new one with 201. */
export const accepted = (status: number): boolean => status === 200 || status === 201;
