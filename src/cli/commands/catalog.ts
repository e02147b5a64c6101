import { Argument, InvalidArgumentError, Option, type Command } from "commander";

import { catalogNamePattern, catalogNameRule } from "../../../schemas/catalog.ts";
import { tokenRules, type TokenRule } from "../../installations/token-rules.ts";
import type { CatalogName } from "./catalog-actions.ts";
import type { JsonFlag } from "../input/options.ts";

/**
 * Adds `topicsync applications …` and `topicsync platforms …`: what push tokens can be registered for. What only these
 * commands need is loaded when they run.
 */
export function addCatalogCommands(program: Command): void {
  const applications = program
    .command("applications")
    .description("manage the push applications that tokens can be registered for");
  addCommands(applications, "applications", "application");
  withNames(applications.command("add"), "application").action(
    async (names: string[], { json }: JsonFlag) => {
      const { addName: add } = await import("./catalog-actions.ts");
      await add("applications", names, { json });
    },
  );

  const platforms = program
    .command("platforms")
    .description("manage the push platforms that tokens can be registered for");
  addCommands(platforms, "platforms", "platform");
  withNames(platforms.command("add"), "platform")
    .addOption(
      new Option("--token-rule <rule>", "what its tokens look like; without it any text is one").choices(
        tokenRules,
      ),
    )
    .action(async (names: string[], { json, tokenRule }: JsonFlag & { tokenRule?: TokenRule }) => {
      const { addName: add } = await import("./catalog-actions.ts");
      await add("platforms", names, { json, tokenRule });
    });
  platforms
    .command("rule")
    .description(
      "say what a platform's tokens look like; those that are registered already are left as they are",
    )
    .argument("<name>", "its name")
    .addArgument(
      new Argument("<rule>", "the rule; none takes any text of at most 4,096 characters").choices([
        ...tokenRules,
        "none",
      ]),
    )
    .option("--json", "print the platform as JSON")
    .action(async (name: string, rule: TokenRule | "none", flags: JsonFlag) => {
      const { changeName: change } = await import("./catalog-actions.ts");
      const tokenRule = rule === "none" ? null : rule;
      const done = `${name} has ${rule === "none" ? "no rule" : `the rule ${rule}`}`;
      await change({ catalog: "platforms", name, changeName: { tokenRule }, done }, flags);
    });
}

/** What both have in common. */
function addCommands(command: Command, catalog: CatalogName, one: string): void {
  command
    .command("list")
    .description(`list the ${catalog}`)
    .option("--json", "print JSON instead of a table")
    .action(async (flags: JsonFlag) => {
      const { listNames: list } = await import("./catalog-actions.ts");
      await list(catalog, flags);
    });
  command
    .command("show")
    .description(`show one ${one}, and how many installations it has`)
    .argument("<name>", "its name")
    .option("--json", "print JSON")
    .action(async (name: string, flags: JsonFlag) => {
      const { showName: show } = await import("./catalog-actions.ts");
      await show(catalog, name, flags);
    });
  for (const [verb, active] of [
    ["disable", false],
    ["enable", true],
  ] as const) {
    command
      .command(verb)
      .description(
        active
          ? `let tokens be registered for a disabled ${one} again`
          : `refuse to register and remove tokens for this ${one}; those that it has stay as they are`,
      )
      .argument("<name>", "its name")
      .option("--json", `print the ${one} as JSON`)
      .action(async (name: string, flags: JsonFlag) => {
        const { changeName: change } = await import("./catalog-actions.ts");
        await change({ catalog, name, changeName: { active }, done: `${verb}d ${name}` }, flags);
      });
  }
}

const withNames = (command: Command, one: string): Command =>
  command
    .description(`add ${one}s, active`)
    .argument("<name...>", "their names", newName)
    .option("--json", "print what came of it as JSON");

function newName(name: string, before: string[] | undefined): string[] {
  if (!name.isWellFormed() || !new RegExp(catalogNamePattern, "u").test(name))
    throw new InvalidArgumentError(`It must be ${catalogNameRule}.`);
  return [...(before ?? []), name];
}
