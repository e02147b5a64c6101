/**
 * `npm run bench` runs the sync benchmarks, `npm run bench -- NAME` one benchmark. bench/README.md
 * explains them; `npm run bench -- NAME --help` lists the options.
 */
import { Command } from "commander";

import { analysisCommand } from "./analysis/analysis.ts";
import { checkCommand } from "./check/check.ts";
import { deadLettersCommand } from "./dead-letters.ts";
import { floodCommand } from "./http/flood.ts";
import { httpCommand } from "./http/http.ts";
import { impactCommand } from "./impact.ts";
import { latencyCommand, measureLatency } from "./sync/latency.ts";
import { measureMemory, memoryCommand } from "./sync/memory.ts";
import { createCommonOptions, type CommonOptions } from "./support/options.ts";
import { planCommand } from "./plan/plan.ts";
import { pickerCommand } from "./picker/picker.ts";
import { printReports } from "./support/report.ts";
import { routerCommand } from "./router/router.ts";
import { scalingCommand } from "./scaling/scaling.ts";
import { soakCommand } from "./soak/soak.ts";
import { startStack } from "./support/stack.ts";
import { measureSync, syncCommand } from "./sync/sync.ts";
import { topicPagesCommand } from "./topic-pages.ts";

const program = new Command("npm run bench --").description(
  "Benchmarks the service on a new broker and new stores. Without a command, runs sync, latency and memory.",
);
// Options after a command belong to the command.
program.enablePositionalOptions();
for (const option of createCommonOptions()) program.addOption(option);
program.action(async (options: CommonOptions) => {
  await using stack = await startStack(options.store);
  const reports = [
    await measureSync(stack, { rounds: 3, peer: true }),
    await measureLatency(stack),
    await measureMemory(stack),
  ];
  printReports(reports, stack.broker.description, options);
});
const commands = [
  checkCommand(),
  syncCommand(),
  latencyCommand(),
  memoryCommand(),
  pickerCommand(),
  analysisCommand(),
  planCommand(),
  impactCommand(),
  routerCommand(),
  scalingCommand(),
  httpCommand(),
  floodCommand(),
  soakCommand(),
  topicPagesCommand(),
  deadLettersCommand(),
];
for (const command of commands) program.addCommand(command);

await program.parseAsync();
