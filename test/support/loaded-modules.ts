/** Loaded into a service with `--import`: records which modules of OpenTelemetry the service loads. */
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";

const { LOADED_MODULES: file } = process.env;

registerHooks({
  load(url, context, next) {
    if (file !== undefined && url.includes("@opentelemetry/")) appendFileSync(file, `${url}\n`);
    return next(url, context);
  },
});
