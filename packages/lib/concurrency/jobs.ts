/** Remembers when jobs are due, for all instances. Every function throws UnavailableError. */
export interface JobStore {
  /** Whether a job was due: then it is for the caller to run, and due again at `nextOn`. */
  claim(name: string, now: Date, nextOn: Date): Promise<boolean>;
  /** Sets when a job is due again. */
  postpone(name: string, nextOn: Date): Promise<void>;
}
