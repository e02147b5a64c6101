/** How often a property runs, given how often it does in the long tests. */
export type Runs = (many: number) => number;

export const manyRuns: Runs = (many) => many;
/** Enough for what is easily found; the hard cases are tables beside the properties. */
export const fewRuns: Runs = (many) => Math.ceil(many / 25);
