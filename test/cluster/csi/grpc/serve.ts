import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { handleUnaryCall, UntypedServiceImplementation } from '@grpc/grpc-js';
import { CsiError } from './csi-error.ts';
import { definitionOf } from './services.ts';
import type { ServiceName } from './services.ts';

/** Implements a method. A CsiError is returned with its code, any other error as INTERNAL. */
type Handler = (request: never) => Promise<object>;
export type Handlers = Readonly<Record<string, Handler>>;

/** The log line of a call: method, volume and result. */
interface CallRecord {
  readonly method: string;
  readonly subject: string;
  readonly code: string;
  readonly message?: string;
}

export interface ServeOptions {
  /** Absolute path. A socket that a previous process left there is removed. */
  readonly socket: string;
  readonly services: Partial<Record<ServiceName, Handlers>>;
  readonly onCall: (call: CallRecord) => void;
}

/** sockaddr_un has 108 bytes, and the last one is zero (unix(7)). */
const longestPath = 107;

/** Serves gRPC on a unix socket of mode 0600. `stop` cancels the running calls. */
export async function serve({ socket, services, onCall }: ServeOptions): Promise<{ stop(): void }> {
  const server = new Server();
  for (const [name, handlers] of Object.entries(services)) {
    server.addService(definitionOf(name as ServiceName), implement(handlers, onCall));
  }
  if (Buffer.byteLength(socket) > longestPath) {
    throw new Error(`${socket} is too long for a socket: ${longestPath} bytes at most`);
  }
  await mkdir(dirname(socket), { recursive: true });
  await rm(socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
  return { stop: () => server.forceShutdown() };
}

function implement(handlers: Handlers, onCall: ServeOptions['onCall']): UntypedServiceImplementation {
  return Object.fromEntries(
    Object.entries(handlers).map(([method, handler]) => [method, unary(method, handler, onCall)]),
  );
}

function unary(
  method: string,
  handler: Handler,
  onCall: ServeOptions['onCall'],
): handleUnaryCall<object, object> {
  return ({ request }, answer) => {
    const subject = subjectOf(request);
    handler(request as never).then(
      (response) => {
        onCall({ method, subject, code: 'OK' });
        answer(null, response);
      },
      (error: unknown) => {
        const code = error instanceof CsiError ? error.code : 'INTERNAL';
        const message = error instanceof Error ? error.message : String(error);
        onCall({ method, subject, code, message });
        answer({ code: status[code], details: message });
      },
    );
  };
}

function subjectOf(request: object): string {
  const { volumeId, name, snapshotId } = request as Record<string, unknown>;
  return [volumeId, name, snapshotId].find((each) => typeof each === 'string') ?? '';
}
