/**
 * Permanent 5xx statuses: not implemented (501), HTTP version not supported (505), insufficient storage
 * (507).
 */
const permanentStatuses: ReadonlySet<number> = new Set([501, 505, 507]);

/**
 * True if the failure may be transient: 408, 429, and any 5xx except `permanentStatuses`. Proxies in front of
 * an API server respond with 502, 504 or with numbers of their own (520 to 530); etcd without a leader shows
 * as 500. The status does not tell whether a write was done: see `retry.ts`.
 */
export const isTransientStatus = (status: number): boolean =>
  status === 408 || status === 429 || (status >= 500 && status < 600 && !permanentStatuses.has(status));
