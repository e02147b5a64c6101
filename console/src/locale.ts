/**
 * In a container with LANG=C, Chromium's language is `en-US@posix`, which is not valid: all formats that use
 * it throw, those of libraries included. English then takes its place. To be imported before what formats.
 */
const formats = ["NumberFormat", "DateTimeFormat", "RelativeTimeFormat"] as const;

function isUsable(): boolean {
  try {
    for (const language of [undefined, navigator.language]) new Intl.NumberFormat(language).format(0);
    return true;
  } catch {
    return false;
  }
}

function construct(target: object, given: readonly unknown[], newTarget: object): object {
  const create = (all: readonly unknown[]): object =>
    Reflect.construct(target as never, all, newTarget as never) as object;
  try {
    return create(given);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return create(["en", ...given.slice(1)]);
  }
}

if (!isUsable())
  for (const name of formats) Object.assign(Intl, { [name]: new Proxy(Intl[name], { construct }) });
