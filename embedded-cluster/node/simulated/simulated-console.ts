import { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { PodConsole } from '../pod-console.ts';

/** Rejects logs and exec requests for pods of a simulated node: it has no containers. */
export const simulatedConsole: PodConsole = {
  logs: ({ pod }) => {
    throw nothingRuns(pod, 'it has no log');
  },
  exec: ({ pod }) => Promise.reject(nothingRuns(pod, 'no command can be run in it')),
};

function nothingRuns(pod: string, so: string): ApiError {
  return new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'BadRequest', code: 400 },
    message: `pod ${pod} is on a simulated node, which reports status and runs nothing: ${so}`,
  });
}

/** Returns the error of the API server for a kubelet that cannot be reached, with the same message. */
export function unreachable(address: string): ApiError {
  return new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 500 },
    reason: 'InternalError',
    message: `error dialing backend: dial tcp ${address}:10250: i/o timeout`,
  });
}
