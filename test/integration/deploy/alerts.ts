import { readFileSync } from "node:fs";

export const alertsText = (): string =>
  readFileSync(new URL("../../../deploy/prometheus/alerts.yml", import.meta.url), "utf8");

/** The names of all alerts, in their order. */
export const namesOfAlerts = (): string[] =>
  [...alertsText().matchAll(/^ *- alert: (\w+)$/gm)].map(([, name = ""]) => name);

/** Where each alert sends whoever is called, in their order. */
export const runbookLinks = (): string[] =>
  [...alertsText().matchAll(/^ *runbook_url: (\S+)$/gm)].map(([, link = ""]) => link);
