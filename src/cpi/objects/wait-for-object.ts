import { type WaitOptions, waitFor } from '../../kubernetes/client/wait.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { CallContext } from '../call.ts';

type ObjectWait<T extends KubernetesObject, R> = Omit<
  WaitOptions<T, R>,
  'api' | 'clock' | 'onProgress' | 'signal'
> & { readonly signal?: AbortSignal | undefined };

/** `waitFor` with the API and the clock of the call, to which it reports progress. */
export const waitForObject = <T extends KubernetesObject, R>(
  { api, clock, reportProgress }: CallContext,
  { signal, ...options }: ObjectWait<T, R>,
): Promise<R> =>
  waitFor({ ...options, api, clock, onProgress: reportProgress, ...(signal !== undefined && { signal }) });
