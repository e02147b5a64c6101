/** An HTTP response. */
export interface DemoResponse {
  readonly status: number;
  readonly text: string;
}

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** POSTs JSON with HTTP Basic credentials. */
export async function post(
  url: string,
  { user, password }: Credentials,
  body: object,
): Promise<DemoResponse> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json",
      Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

/** Formats an error response in one line: status, code and message. */
export function formatError({ status, text }: DemoResponse): string {
  const { error } = JSON.parse(text) as { error: { code: string; message: string } };
  return `${status} ${error.code}: ${error.message}`;
}
