import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { tokenRenewal } from '../volumes/project-all.ts';
import type { PodServices } from './pod-services.ts';

const retryMs = 10_000;

interface TokenServices extends Pick<PodServices, 'clock'> {
  readonly volumes: Pick<PodServices['volumes'], 'renewTokens'>;
  readonly events: Pick<PodServices['events'], 'record'>;
}

/**
 * Renews the tokens in a pod's volumes before they expire, until the signal aborts. A failure becomes an
 * event and is tried again. Call this directly after the volumes were set up.
 */
export async function keepTokensFresh(
  pod: Pod,
  { clock, volumes, events }: TokenServices,
  signal: AbortSignal,
): Promise<void> {
  const renewal = tokenRenewal(pod);
  if (renewal === undefined) return;
  let delay = renewal;
  for (;;) {
    await clock.sleep(delay, signal);
    if (signal.aborted) return;
    delay = renewal;
    try {
      await volumes.renewTokens(pod);
    } catch (error) {
      const message = `a service account token could not be renewed: ${(error as Error).message}`;
      events.record(pod, { type: 'Warning', reason: 'FailedMount', message });
      delay = Math.min(retryMs, renewal);
    }
  }
}
