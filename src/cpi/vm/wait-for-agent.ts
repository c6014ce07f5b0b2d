import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { truncateAtWord } from '../../errors/redact/whole-words.ts';
import type { CallContext } from '../cloud.ts';
import { vmContainer } from '../own-containers.ts';
import type { AgentSocket } from './agent-socket.ts';
import { agentSocketOf, socketScriptArgs } from './agent-socket.ts';
import { agentSocketExit, agentSocketScript } from './agent-socket-script.ts';
import type { VmSecret } from './pod-record.ts';

/** One command polls for this long. Proxies cut longer ones, and a restart of the container ends one. */
const checkSeconds = 5;
const limitSeconds = 10;
const pauseMs = 250;

/**
 * Waits until the agent in the VM's new container is reachable, by its TCP socket. A CPI method that has
 * recreated the container cannot leave this wait to a caller that goes on at once: a director sends
 * update_settings 60 ms after detach_disk. An agent that does not come up does not fail the call: after
 * `deadlines.agent` seconds a line in the log reports it.
 */
export async function waitForAgent(cloud: CallContext, secret: VmSecret, pod: Pod): Promise<void> {
  const socket = agentSocketOf(secret, pod);
  if (socket === undefined) return;
  const { name = '' } = pod.metadata;
  const seconds = cloud.config.deadlines.agent;
  const end = cloud.clock.now() + seconds * 1000;
  for (;;) {
    const left = Math.ceil((end - cloud.clock.now()) / 1000);
    const problem = await checkSocket(cloud, name, socket, Math.max(1, Math.min(checkSeconds, left)));
    if (problem === undefined) return;
    if (cloud.clock.now() >= end) {
      cloud.log(
        `the agent of VM '${name}' ${problem} ${seconds} s after its container had started again; ` +
          'the next call to it may fail: look at the log of the agent',
      );
      return;
    }
    await cloud.clock.sleep(pauseMs);
  }
}

/** Returns undefined if the socket exists, else what the message reports about the agent. */
async function checkSocket(
  cloud: CallContext,
  pod: string,
  socket: AgentSocket,
  seconds: number,
): Promise<string | undefined> {
  try {
    const { exitCode, stderr } = await cloud.exec({
      pod,
      container: vmContainer,
      command: [
        '/bin/sh',
        '-c',
        agentSocketScript,
        'agent-socket',
        String(seconds),
        ...socketScriptArgs(socket),
      ],
      deadlineMs: (seconds + limitSeconds) * 1000,
    });
    if (exitCode === agentSocketExit.there) return undefined;
    if (exitCode === agentSocketExit.missing) return socketMissingMessage(socket);
    return `could not be looked for (exit code ${exitCode}: ${shortLine(stderr)})`;
  } catch (error) {
    if (!isApiError(error) && !isProductError(error)) throw error;
    return `could not be looked for (${error.message})`;
  }
}

/** Shortens a text that root of the VM may have written. */
const shortLine = (text: string): string => truncateAtWord(text.trim().replaceAll(/\s+/gu, ' '), 200);

const socketMissingMessage = ({ state, port }: AgentSocket): string =>
  state === 'listening'
    ? `did not listen at port ${port}`
    : `was not connected to port ${port} of its message broker`;
