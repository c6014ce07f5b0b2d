import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { wholeWords } from '../../errors/redact/whole-words.ts';
import type { Cloud } from '../cloud.ts';
import { vmContainer } from '../own-containers.ts';
import type { AgentSocket } from './agent-socket.ts';
import { agentSocketOf, socketWords } from './agent-socket.ts';
import { agentSocketExit, agentSocketScript } from './agent-socket-script.ts';
import type { VmSecret } from './pod-record.ts';

/** One command looks this long; longer ones are cut by proxies, and a container that was started again ends one. */
const lookSeconds = 5;
const graceSeconds = 10;
const pauseMs = 250;

/**
 * Waits until the agent in the VM's new container can be spoken to, by its TCP socket. A call of ours that made the container anew
 * cannot leave that to the caller where it goes on at once: a director sends update_settings 60 ms after detach_disk.
 * An agent that does not come is no failure of such a call: after `deadlines.agent` it is noted in the log.
 */
export async function waitForAgent(cloud: Cloud, secret: VmSecret, pod: Pod): Promise<void> {
  const socket = agentSocketOf(secret, pod);
  if (socket === undefined) return;
  const { name = '' } = pod.metadata;
  const seconds = cloud.config.deadlines.agent;
  const end = cloud.clock.now() + seconds * 1000;
  for (;;) {
    const left = Math.ceil((end - cloud.clock.now()) / 1000);
    const trouble = await lookForSocket(cloud, name, socket, Math.max(1, Math.min(lookSeconds, left)));
    if (trouble === undefined) return;
    if (cloud.clock.now() >= end) {
      cloud.note(
        `the agent of VM '${name}' ${trouble} ${seconds} s after its container had started again; ` +
          'the next call to it may fail: look at the log of the agent',
      );
      return;
    }
    await cloud.clock.sleep(pauseMs);
  }
}

/** Undefined where the socket is there; else what is to be said of the agent. */
async function lookForSocket(
  cloud: Cloud,
  pod: string,
  socket: AgentSocket,
  seconds: number,
): Promise<string | undefined> {
  try {
    const { exitCode, stderr } = await cloud.exec({
      pod,
      container: vmContainer,
      command: ['/bin/sh', '-c', agentSocketScript, 'agent-socket', String(seconds), ...socketWords(socket)],
      deadlineMs: (seconds + graceSeconds) * 1000,
    });
    if (exitCode === agentSocketExit.there) return undefined;
    if (exitCode === agentSocketExit.missing) return missing(socket);
    return `could not be looked for (exit code ${exitCode}: ${shortLine(stderr)})`;
  } catch (error) {
    if (!isApiError(error) && !isProductError(error)) throw error;
    return `could not be looked for (${error.message})`;
  }
}

/** Root of the VM may have written it. */
const shortLine = (text: string): string => wholeWords(text.trim().replaceAll(/\s+/gu, ' '), 200);

const missing = ({ state, port }: AgentSocket): string =>
  state === 'listening'
    ? `did not listen at port ${port}`
    : `was not connected to port ${port} of its message broker`;
