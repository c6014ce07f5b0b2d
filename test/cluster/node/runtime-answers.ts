import { Client, credentials, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import type { Machine } from '../machine/machine.ts';
import { containerdSocket } from './configuration.ts';

/**
 * The kubelet calls this method of a runtime at its start and exits if it fails (cri-api,
 * runtime/v1/api.proto: Version).
 */
const versionMethod = '/runtime.v1.RuntimeService/Version';
const deadlineMs = 5000;
const notYet: readonly status[] = [
  status.UNAVAILABLE,
  status.UNKNOWN,
  status.UNIMPLEMENTED,
  status.DEADLINE_EXCEEDED,
];

/**
 * Returns true if a machine's containerd serves kubelets. It accepts other calls earlier: until it has found
 * its containers it responds "server is not initialized yet" to kubelets.
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

/** Sends an empty request, whose fields have their defaults. Of the response only the error is used. */
function askVersion(client: Client): Promise<ServiceError | null> {
  const request = Buffer.alloc(0);
  const asItIs = (message: Buffer): Buffer => message;
  const deadline = new Date(Date.now() + deadlineMs);
  return new Promise((resolve) => {
    client.makeUnaryRequest(versionMethod, asItIs, asItIs, request, { deadline }, resolve);
  });
}
