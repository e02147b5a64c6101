import { Argument, type Command } from "commander";

import type { ApplicationView, PlatformDetail, PlatformView } from "../../../schemas/catalog.ts";
import { applications, platforms, setTokenRule } from "../../operations/catalog.ts";
import { tokenRules } from "../../installations/token-rules.ts";
import { addList, addOperation } from "../client/command.ts";
import { addMistaken, deletions } from "../input/mistaken.ts";

export function defineApplications(command: Command): void {
  addList<ApplicationView>(command, {
    name: "list",
    operation: applications.list,
    member: "applications",
    head: ["application", "active"],
    toRow: ({ name, active }) => [name, toYesNo(active)],
    empty: "No applications yet. Add one with `topicsync applications add NAME`, or set PUSH_APPLICATIONS.",
  });
  addCatalogCommands(command, applications);
}

export function definePlatforms(command: Command): void {
  addList<PlatformView>(command, {
    name: "list",
    operation: platforms.list,
    member: "platforms",
    head: ["platform", "active", "token rule"],
    toRow: ({ name, active, tokenRule }) => [name, toYesNo(active), tokenRule ?? "none"],
    empty: "No platforms yet. Add one with `topicsync platforms add NAME`, or set PUSH_PLATFORMS.",
  });
  addCatalogCommands(command, platforms);
  addOperation<PlatformView>(command, {
    name: "rule",
    operation: setTokenRule,
    description: "set the format of a platform's tokens; registered tokens are not changed",
    arguments: ["tokenRule"],
    members: {
      tokenRule: new Argument("<rule>", "the rule; none allows any text of at most 4,096 characters").choices(
        [...tokenRules, "none"],
      ),
    },
    toBody: ({ tokenRule }) => ({ tokenRule: tokenRule === "none" ? null : tokenRule }),
    format: ({ name, tokenRule }) => `token rule of ${name}: ${tokenRule ?? "none"}`,
  });
}

/** The commands that applications and platforms have both. */
function addCatalogCommands(command: Command, { add, get, disable, enable }: typeof platforms): void {
  addOperation<ApplicationView>(command, {
    name: "add",
    operation: add,
    arguments: ["name"],
    format: ({ name }) => `added ${name}`,
  });
  addOperation<Omit<PlatformDetail, "tokenRule"> & Partial<Pick<PlatformDetail, "tokenRule">>>(command, {
    name: "show",
    operation: get,
    description: "show it, with the number of its installations",
    format: ({ name, active, tokenRule, installations }) => [
      `name           ${name}`,
      `active         ${toYesNo(active)}`,
      ...(tokenRule === undefined ? [] : [`token rule     ${tokenRule ?? "none"}`]),
      `installations  ${installations.active} active, ${installations.inactive} inactive`,
    ],
  });
  addOperation<ApplicationView>(command, {
    name: "disable",
    operation: disable,
    description: "reject registrations and removals for it; its tokens are not changed",
    format: ({ name }) => `disabled ${name}`,
  });
  addOperation<ApplicationView>(command, {
    name: "enable",
    operation: enable,
    description: "accept registrations and removals for it again",
    format: ({ name }) => `enabled ${name}`,
  });
  addMistaken(command, deletions, `they are disabled instead: topicsync ${command.name()} disable NAME`);
}

const toYesNo = (active: boolean): string => (active ? "yes" : "no");
