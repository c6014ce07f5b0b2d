import { PassThrough } from 'node:stream';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { ExecRequest, ExecSession, PodConsole } from '../../../embedded-cluster/node/pod-console.ts';
import { successExit } from '../../kubernetes/client/exec.ts';
import { endUnlessBoundExit, releaseExit } from '../disk/attach/scripts/volume-functions.ts';

/**
 * Only for suites: answers the scripts that the CPI runs in attachment pods as the container of a healthy
 * disk would, on simulated nodes, where nothing runs and nothing is mounted.
 */
export class HolderConsole implements PodConsole {
  /** Disks that a process in the VM uses. */
  readonly busyDisks = new Set<string>();

  logs(): AsyncIterable<Uint8Array> {
    throw nothing('log');
  }

  async exec({ command }: ExecRequest): Promise<ExecSession> {
    const [, , , script, diskCid = ''] = command;
    if (script === 'is-mounted') return endedSession(1);
    if (script === 'agent-socket') return endedSession(successExit);
    if (script === 'end-unless-bound') return endedSession(endUnlessBoundExit.bound);
    if (script !== 'release' && script !== 'bind') throw nothing('command');
    const isBusy = script === 'release' && this.busyDisks.has(diskCid);
    const words = 'process 7 has it mounted at /var/vcap/store\n.\n';
    return isBusy ? endedSession(releaseExit.busy, words) : endedSession(successExit);
  }
}

/** Returns the session of a command that has ended. */
export async function endedSession(exitCode: number, words = ''): Promise<ExecSession> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  stdout.end(words);
  stderr.end();
  return Promise.resolve({
    ...{ stdin: undefined, stdout, stderr, exited: Promise.resolve({ exitCode }) },
    resize: () => undefined,
    kill: () => undefined,
  });
}

function nothing(what: string): ApiError {
  return new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'BadRequest', code: 400 },
    message: `the suite's console has no such ${what}`,
  });
}
