/**
 * `npm run bench` runs the sync benchmarks, `npm run bench -- NAME` one benchmark. docs/benchmarks.md
 * explains each of them; `npm run bench -- --help` and `npm run bench -- NAME --help` list the options.
 */
import { Command } from "commander";

import { floodCommand } from "./http/flood.ts";
import { httpCommand } from "./http/http.ts";
import { latencyCommand, measureLatency } from "./sync/latency.ts";
import { measureMemory, memoryCommand } from "./sync/memory.ts";
import { commonOptions, type CommonOptions } from "./support/options.ts";
import { pickerCommand } from "./picker/picker.ts";
import { print } from "./support/report.ts";
import { scalingCommand } from "./scaling/scaling.ts";
import { soakCommand } from "./soak/soak.ts";
import { startStack } from "./support/stack.ts";
import { measureSync, syncCommand } from "./sync/sync.ts";
import { topicPagesCommand } from "./topic-pages.ts";

const program = new Command("npm run bench --").description(
  "Benchmarks the service on its own broker and stores. Without a command: sync, latency and memory with default options.",
);
// Options after a command belong to the command.
program.enablePositionalOptions();
for (const option of commonOptions()) program.addOption(option);
program.action(async (options: CommonOptions) => {
  await using stack = await startStack(options.store);
  const reports = [
    await measureSync(stack, { rounds: 3 }),
    await measureLatency(stack),
    await measureMemory(stack),
  ];
  print(reports, stack.broker.description, options);
});
const commands = [
  syncCommand(),
  latencyCommand(),
  memoryCommand(),
  pickerCommand(),
  scalingCommand(),
  httpCommand(),
  floodCommand(),
  soakCommand(),
  topicPagesCommand(),
];
for (const command of commands) program.addCommand(command);

await program.parseAsync();
