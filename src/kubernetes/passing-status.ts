/** What a server does not do (501, 505) or has no room for (507), it does not do a moment later either. */
const permanentStatuses: ReadonlySet<number> = new Set([501, 505, 507]);

/**
 * Whether a failure status may be another one next time: 408, 429, and any 5xx but those of `lasting`. Proxies before an API
 * server answer with 502, 504 or numbers of their own (520 to 530), etcd without a leader shows as 500. Of a write it
 * does not say whether it was done: `retry.ts`.
 */
export const isTransientStatus = (status: number): boolean =>
  status === 408 || status === 429 || (status >= 500 && status < 600 && !permanentStatuses.has(status));
