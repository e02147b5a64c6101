/** The demo's user of the HTTP facade. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** POSTs JSON with HTTP Basic credentials. */
export async function post(url: string, { user, password }: Credentials, body: object): Promise<Answer> {
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

/** The code and the message of an error's answer, in one line. */
export function getReason({ status, text }: Answer): string {
  const { error } = JSON.parse(text) as { error: { code: string; message: string } };
  return `${status} ${error.code}: ${error.message}`;
}
