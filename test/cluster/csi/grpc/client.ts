import { credentials, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { CsiError } from './csi-error.ts';
import type { CsiCode } from './csi-error.ts';
import { clientOf } from './services.ts';
import type { ServiceName } from './services.ts';

/**
 * Calls methods of a service on a unix socket. Rejects with CsiError, with the code UNAVAILABLE if no process
 * listens.
 */
export interface CsiClient {
  call<Response extends object>(method: string, request: object): Promise<Response>;
  close(): void;
}

const deadlineMs = 120_000;

type Method = (
  request: object,
  options: { deadline: Date },
  answer: (error: ServiceError | null, response: object) => void,
) => void;

export function connect(name: ServiceName, socket: string): CsiClient {
  // A killed driver restarts soon. By default gRPC waits up to two minutes between attempts.
  const options = { 'grpc.initial_reconnect_backoff_ms': 50, 'grpc.max_reconnect_backoff_ms': 500 };
  const client = new (clientOf(name))(`unix://${socket}`, credentials.createInsecure(), options);
  return {
    call: <Response extends object>(method: string, request: object) =>
      new Promise<Response>((resolve, reject) => {
        const perform = client[method] as Method | undefined;
        if (perform === undefined) throw new Error(`${name} has no method ${method}`);
        perform.call(client, request, { deadline: new Date(Date.now() + deadlineMs) }, (error, response) => {
          if (error === null) resolve(response as Response);
          else reject(new CsiError(status[error.code] as CsiCode, error.details, { cause: error }));
        });
      }),
    close: () => client.close(),
  };
}
