import {
  credentials,
  status,
  type ServiceError,
  loadPackageDefinition,
  type GrpcObject,
  type ServiceClientConstructor,
  type ServiceDefinition,
  Server,
  ServerCredentials,
  type handleUnaryCall,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { fileURLToPath } from 'node:url';
import { loadSync } from '@grpc/proto-loader';
import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

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

type CsiCode = Exclude<keyof typeof status, number>;

/** A response of the driver with a gRPC status other than OK. Sidecars and kubelet depend on the code. */
export class CsiError extends Error {
  readonly code: CsiCode;

  constructor(code: CsiCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CsiError';
    this.code = code;
  }
}

type ServiceName = 'Identity' | 'Controller' | 'Node' | 'Registration';

const packages: Readonly<Record<ServiceName, { readonly file: string; readonly path: readonly string[] }>> = {
  Identity: { file: 'csi.proto', path: ['csi', 'v1', 'Identity'] },
  Controller: { file: 'csi.proto', path: ['csi', 'v1', 'Controller'] },
  Node: { file: 'csi.proto', path: ['csi', 'v1', 'Node'] },
  Registration: { file: 'plugin-registration.proto', path: ['pluginregistration', 'Registration'] },
};

/**
 * Each file is parsed once, because a driver process serves up to three drivers with up to three services.
 */
const loaded = new Map<string, GrpcObject>();

function load(file: string): GrpcObject {
  const definition = loadSync(fileURLToPath(new URL(file, import.meta.url)), {
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  const found = loadPackageDefinition(definition);
  loaded.set(file, found);
  return found;
}

/**
 * Returns the client constructor of a service of the two protocols, with int64 as text and enums as names.
 */
function clientOf(name: ServiceName): ServiceClientConstructor {
  const { file, path } = packages[name];
  let found: unknown = loaded.get(file) ?? load(file);
  for (const part of path) {
    found = (found as Record<string, unknown>)[part];
  }
  return found as ServiceClientConstructor;
}

function definitionOf(name: ServiceName): ServiceDefinition {
  return clientOf(name).service;
}

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

interface ServeOptions {
  /** Absolute path. A socket that a previous process left there is removed. */
  readonly socket: string;
  readonly services: Partial<Record<ServiceName, Handlers>>;
  readonly onCall: (call: CallRecord) => void;
}

/** sockaddr_un has 108 bytes, and the last one is zero (unix(7)). */
const maxPathLength = 107;

/** Serves gRPC on a unix socket of mode 0600. `stop` cancels the running calls. */
export async function serve({ socket, services, onCall }: ServeOptions): Promise<{ stop(): void }> {
  const server = new Server();
  for (const [name, handlers] of Object.entries(services)) {
    server.addService(definitionOf(name as ServiceName), implement(handlers, onCall));
  }
  if (Buffer.byteLength(socket) > maxPathLength) {
    throw new Error(`${socket} is too long for a socket: ${maxPathLength} bytes at most`);
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
