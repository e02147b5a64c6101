/**
 * Gives the commands of a process that loads this module with `--import` two minutes where they wait ten
 * seconds for Kafka and MongoDB: on a busy machine, these take longer to accept a connection.
 */

/** The argument with which Node loads this module. */
export const importPatience = `--import=${import.meta.url}`;

/** The settings of a command whose time limit is the subject of a test. */
export const impatient = { TEST_PATIENCE: "1" } as const;

const defaultPatience = 12;

const createSignal = AbortSignal.timeout.bind(AbortSignal);

if (process.execArgv.includes(importPatience))
  AbortSignal.timeout = (ms) => createSignal(ms * Number(process.env["TEST_PATIENCE"] ?? defaultPatience));
