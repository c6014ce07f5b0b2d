import { Client, credentials, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import type { Machine } from '../machine/machine.ts';
import { containerdSocket } from './configuration.ts';

/** Asked of a runtime by the kubelet at its start, which ends where it is refused (cri-api, runtime/v1/api.proto: Version). */
const versionMethod = '/runtime.v1.RuntimeService/Version';
const deadlineMs = 5000;
const notYet: readonly status[] = [
  status.UNAVAILABLE,
  status.UNKNOWN,
  status.UNIMPLEMENTED,
  status.DEADLINE_EXCEEDED,
];

/**
 * Whether a machine's containerd serves kubelets. It takes other calls first: until it has found out what became of its
 * containers it tells kubelets "server is not initialized yet".
 */
export async function runtimeAnswers(machine: Machine): Promise<boolean> {
  const socket = `/proc/${await machine.pid()}/root${containerdSocket}`;
  const client = new Client(`unix://${socket}`, credentials.createInsecure());
  try {
    const error = await askVersion(client);
    if (error !== null && !notYet.includes(error.code)) throw error;
    return error === null;
  } finally {
    client.close();
  }
}

/** An empty request is one whose fields have their defaults; of the answer only that it is none of an error counts. */
function askVersion(client: Client): Promise<ServiceError | null> {
  const request = Buffer.alloc(0);
  const asItIs = (message: Buffer): Buffer => message;
  const deadline = new Date(Date.now() + deadlineMs);
  return new Promise((resolve) => {
    client.makeUnaryRequest(versionMethod, asItIs, asItIs, request, { deadline }, resolve);
  });
}
