import type { Command } from "commander";

/** Adds `topicsync start`. */
export function addStartCommand(program: Command): void {
  program
    .command("start")
    .description("run the service until SIGTERM or SIGINT")
    .action(async () => {
      // Half of the program, which no other command needs.
      const { runService } = await import("../run-service.ts");
      process.exit(await runService(process.env));
    });
}
