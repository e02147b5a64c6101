import { readFileSync } from "node:fs";

export interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: unknown;
  readonly targets?: readonly Target[];
}

/** A query of a panel. */
export interface Target {
  readonly expr: string;
  readonly datasource: unknown;
}

/** The Grafana dashboard. */
export const { panels, templating }: { panels: Panel[]; templating: { list: { name: string }[] } } =
  JSON.parse(readFileSync(new URL("../../../deploy/grafana/topicsync.json", import.meta.url), "utf8"));
export const withQueries = panels.filter(({ type }) => type !== "row");
export const queries = withQueries.flatMap(({ targets = [] }) => targets);

/** Replaces the variables of a query as Grafana does with all instances selected. */
export const expandQuery = (expr: string, interval = "1m"): string =>
  expr.replaceAll("$instance", ".+").replaceAll("$__rate_interval", interval);
