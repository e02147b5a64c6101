/** The check of a caller who may change everything. */
export const allowAll = (): void => undefined;
