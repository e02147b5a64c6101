import { readFileSync } from "node:fs";

/** What Linux counts a process's time in, on every machine that Node runs on. */
const microsecondsATick = 10_000;

/**
 * The time that a process has had on processors, of its own and in the system, in microseconds; NaN where
 * there is no /proc.
 */
export function readProcessorTime(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in brackets, which may hold anything; the 14th and 15th are the
    // ticks.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * microsecondsATick;
  } catch {
    return NaN;
  }
}

/** Resident memory in MB (2^20 bytes), now or at its most, as Linux tells it; NaN elsewhere. */
export function readMemory(pid: number, what: "VmRSS" | "VmHWM"): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const kilobytes = new RegExp(`^${what}:\\s+(\\d+)`, "m").exec(status)?.[1];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return NaN;
  }
}
