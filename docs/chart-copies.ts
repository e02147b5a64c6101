const deploy = new URL("../deploy/", import.meta.url);
export const chartFolder = new URL("helm/topicsync/", deploy);

/** What the chart installs, with its copy in the chart: a chart contains no file from outside its folder. */
export const chartCopies = [
  [new URL("prometheus/alerts.yml", deploy), new URL("files/alerts.yml", chartFolder)],
  [new URL("grafana/topicsync.json", deploy), new URL("files/dashboard.json", chartFolder)],
] as const;
