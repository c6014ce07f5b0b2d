import type { Clock } from '../platform/clock.ts';
import type { KubernetesApi } from './api.ts';

/** Formats milliseconds since the epoch as Kubernetes does (metav1.Time): in UTC, with whole seconds. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/u, 'Z');
}

/**
 * Returns how far the server's clock is ahead of ours, in milliseconds; 0 if the server has sent no time.
 * Must be called directly after a response, whose time it compares.
 */
export function clockDifference(api: Pick<KubernetesApi, 'serverTime'>, clock: Clock): number {
  const now = clock.now();
  return (api.serverTime?.() ?? now) - now;
}
