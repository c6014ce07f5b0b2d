import type { CallContext } from '../call.ts';
import { atRequest, interceptingApi } from './intercepting-api.ts';

/** A call that waits before one of its requests until it is released. */
export interface HeldCall<R> {
  /** Resolves when the call has arrived at that request. */
  readonly arrived: Promise<void>;
  /** Lets the call continue; resolves or rejects as the call does. */
  readonly release: () => Promise<R>;
}

/** Starts a call that stops before its `count`-th request of that kind, for example `patch secrets vm-1`. */
export function holdCall<R>(
  cloud: CallContext,
  request: string,
  call: (cloud: CallContext) => Promise<R>,
  count = 1,
): HeldCall<R> {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const hold = atRequest(
    request,
    () => {
      arrived.resolve();
      return released.promise;
    },
    count,
  );
  const outcome = call({ ...cloud, api: interceptingApi(cloud.api, hold) });
  // a call that ends before it arrives must not leave its test waiting
  outcome.then(
    () => arrived.reject(new Error(`the call ended before ${request}`)),
    (error: unknown) => arrived.reject(error),
  );
  return {
    arrived: arrived.promise,
    release: () => {
      released.resolve();
      return outcome;
    },
  };
}
