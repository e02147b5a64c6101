/** The path below which browsers see the service, such as `/topicsync`; "" for none. The page contains it. */
export const base = document.documentElement.dataset["base"] ?? "";

export const consolePath = `${base}/console`;
