import { readFileSync } from "node:fs";

export const readAlerts = (): string =>
  readFileSync(new URL("../../../deploy/prometheus/alerts.yml", import.meta.url), "utf8");

/** Returns the names of all alerts, in order. */
export const readAlertNames = (): string[] =>
  [...readAlerts().matchAll(/^ *- alert: (\w+)$/gm)].map(([, name = ""]) => name);

/** Returns the runbook link of each alert, in order. */
export const readRunbookLinks = (): string[] =>
  [...readAlerts().matchAll(/^ *runbook_url: (\S+)$/gm)].map(([, link = ""]) => link);
