import type { ContainerState, ContainerStatus, PodStatus } from '../../../src/kubernetes/types/pod.ts';
import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readLog } from '../logs/read-log.ts';
import { writeFile } from '../../../src/platform/write-file.ts';

/** The node's data about one container of a pod; it becomes the container's ContainerStatus. */
export interface ContainerRecord {
  readonly name: string;
  readonly image: string;
  readonly init: boolean;
  restartCount: number;
  containerId: string | undefined;
  state: ContainerState;
  lastState: ContainerState | undefined;
}

const waiting = (reason: string): ContainerState => ({ waiting: { reason } });

/**
 * Returns kubelet's state for a container whose exit code is unknown (kuberuntime: ContainerStatusUnknown).
 */
function unknownExit(status: ContainerStatus, now: string): ContainerState {
  const startedAt = status.state?.running?.startedAt;
  return {
    terminated: {
      exitCode: 255,
      reason: 'Unknown',
      message: 'the node was restarted while the container ran',
      ...(startedAt !== undefined && { startedAt }),
      finishedAt: now,
      ...(status.containerID !== undefined && { containerID: status.containerID }),
    },
  };
}

function statusOf(name: string, init: boolean, previous: PodStatus | undefined): ContainerStatus | undefined {
  const statuses = init ? previous?.initContainerStatuses : previous?.containerStatuses;
  return statuses?.find((each) => each.name === name);
}

/** Returns how the container ended in an earlier run of the node, if it is known. */
function previousTermination(status: ContainerStatus, now: string): ContainerState {
  const terminated = status.state?.terminated ?? status.lastState?.terminated;
  const wasRunning = status.state?.running !== undefined;
  return wasRunning || terminated === undefined ? unknownExit(status, now) : { terminated };
}

/**
 * Returns the record with which a container starts in this run of the node. A container that ran in an
 * earlier run counts as restarted, and its last termination state is kept if it is known.
 */
export function restoreState(
  container: { readonly name: string; readonly image: string },
  init: boolean,
  previous: PodStatus | undefined,
  now: string,
): ContainerRecord {
  const status = statusOf(container.name, init, previous);
  const ran = status?.containerID !== undefined;
  return {
    ...{ name: container.name, image: container.image, init, containerId: undefined },
    restartCount: ran ? status.restartCount + 1 : 0,
    state: waiting(init ? 'PodInitializing' : 'ContainerCreating'),
    lastState: ran ? previousTermination(status, now) : undefined,
  };
}

export function toContainerStatus(record: ContainerRecord): ContainerStatus {
  const running = record.state.running !== undefined;
  const completed = record.init && record.state.terminated?.exitCode === 0;
  return {
    name: record.name,
    image: record.image,
    imageID: record.containerId === undefined ? '' : record.image,
    ...(record.containerId !== undefined && { containerID: record.containerId }),
    ready: record.init ? completed : running,
    started: running,
    restartCount: record.restartCount,
    state: record.state,
    ...(record.lastState !== undefined && { lastState: record.lastState }),
  };
}

/** kubelet's limits (kuberuntime: MaxContainerTerminationMessageLength and the constants beside it). */
const max = { message: 4096, fromLog: 2048, logLines: 80 };

/**
 * Creates the file that a container sees as its terminationMessagePath. The container's user may write to it,
 * whichever user that is.
 */
export async function makeMessageFile(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '');
  await chmod(path, 0o666);
  return path;
}

/** Returns the container's termination message, cut to 4096 bytes. */
export async function readMessageFile(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(max.message), 0, max.message, 0);
    return buffer.subarray(0, bytesRead).toString();
  } finally {
    await file.close();
  }
}

/** Returns the end of the container's log, for the policy FallbackToLogsOnError. */
export async function messageFromLog(logPath: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of readLog(logPath, { timestamps: false, tailLines: max.logLines })) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).subarray(-max.fromLog).toString();
}
