/** Given to a service by `--import`: writes down which modules of OpenTelemetry it loads. */
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";

const { LOADED_MODULES: file } = process.env;

registerHooks({
  load(url, context, next) {
    if (file !== undefined && url.includes("@opentelemetry/")) appendFileSync(file, `${url}\n`);
    return next(url, context);
  },
});
