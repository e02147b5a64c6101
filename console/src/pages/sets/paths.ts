export const setsPath = "/api/topicsync/v1/topic-sets";

/** The page of a set. */
export const getSetPath = (name: string): string => `/sets/${encodeURIComponent(name)}`;
