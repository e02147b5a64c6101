import { readFileSync } from "node:fs";

/** Linux counts CPU time in ticks of this length on all platforms that Node supports. */
const microsecondsPerTick = 10_000;

/** User and system time of a process in microseconds; NaN without /proc. */
export function readCpuMicros(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the program's name in brackets, may contain anything. Fields 14 and 15 are the ticks.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * microsecondsPerTick;
  } catch {
    return NaN;
  }
}

/** Current (VmRSS) or peak (VmHWM) resident memory in MB (2^20 bytes); NaN without /proc. */
export function readMemoryMb(pid: number, what: "VmRSS" | "VmHWM"): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const kilobytes = new RegExp(`^${what}:\\s+(\\d+)`, "m").exec(status)?.[1];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return NaN;
  }
}
