import type { Mutant } from "./mutant.ts";

const groupCommit = "src/installations/group-commit.ts";
const installations = "src/storage/installations.ts";

export const registrationsMutants: readonly Mutant[] = [
  {
    name: "registrations are acknowledged before the store responds",
    world: "registrations",
    file: groupCommit,
    replace: "      waitingCharacters += characters;\n      schedule();",
    by: "      waitingCharacters += characters;\n      done.resolve(undefined);\n      schedule();",
  },
  {
    name: "removals and registrations of a user overtake each other",
    world: "registrations",
    file: groupCommit,
    replace: "if (inFlight.hasConflict(entry.write) || skippedWrites.hasConflict(entry.write)) {",
    by: "if (false) {",
  },
  {
    name: "a write overtakes earlier ones that wait",
    world: "registrations",
    file: groupCommit,
    replace: " || skippedWrites.hasConflict(entry.write)",
    by: "",
  },
  {
    name: "the error of a batch is dropped",
    world: "registrations",
    file: groupCommit,
    replace: "      return () => error;",
    by: "      return () => (error, undefined);",
  },
  {
    name: "a late registration replaces a newer record",
    world: "registrations",
    file: installations,
    replace: ", sys_updated_on: { $not: { $gte: updatedOn } } }",
    by: " }",
  },
  {
    name: "a late registration replaces a record of the same time",
    world: "registrations",
    file: installations,
    replace: "sys_updated_on: { $not: { $gte: updatedOn } }",
    by: "sys_updated_on: { $not: { $gt: updatedOn } }",
    schedule: "late-registration-undoes-a-removal",
  },
  {
    name: "the time of a record goes back when it is deactivated",
    world: "registrations",
    file: "src/storage/installation-records.ts",
    replace: "deactivated_reason: reason },\n  $max: { sys_updated_on: updatedOn },",
    by: "deactivated_reason: reason, sys_updated_on: updatedOn },",
    schedule: "late-registration-undoes-a-removal-by-a-process-whose-clock-is-behind",
  },
  {
    name: "a late removal deactivates a token that was registered again",
    world: "registrations",
    file: installations,
    replace: "q: { _id, token, active: true, sys_updated_on }",
    by: "q: { _id, token, active: true }",
  },
  {
    name: "a removal that finds nothing does not wait for a majority",
    world: "registrations",
    file: "src/storage/database.ts",
    replace: "names.map((name) =>",
    by: "names.slice(names.length).map((name) =>",
  },
  {
    name: "a user's removal is not repeated after an election",
    world: "registrations",
    file: installations,
    replace: "if (primary !== database.getPrimary())",
    by: "if (false)",
    schedule: "removal-spares-a-token-that-an-election-reactivates",
  },
  {
    name: "an administrator's removal is not repeated after an election",
    world: "registrations",
    file: "src/storage/database.ts",
    replace: "return primary === topology.getPrimary();",
    by: "return true;",
    schedule: "removal-of-all-spares-a-token-that-an-election-reactivates",
  },
];
