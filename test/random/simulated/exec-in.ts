import { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { LocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import type { ExecCommand, ExecResult } from '../../../src/cpi/call.ts';
import { inUseExit } from '../../../src/cpi/disk/attach/scripts/in-use.ts';
import type { ScriptOutcome } from './mount-container.ts';
import type { PodLife } from './pod-life.ts';
import type { SimulatedNode } from './simulated-node.ts';

/** The nodes and the API that a script needs. */
export interface ExecTarget {
  readonly api: LocalApi;
  readonly nodes: readonly SimulatedNode[];
}

/** Runs one of the CPI's scripts in a container, which may end during the run. */
export async function execIn({ api, nodes }: ExecTarget, command: ExecCommand): Promise<ExecResult> {
  const { namespace = 'bosh', pod: name } = command;
  const pod = api.registry.store.get('pods', namespace, name) as unknown as Pod | undefined;
  if (pod === undefined) throw failure(404, `pods "${name}" not found`);
  const node = nodes.find((one) => one.name === pod.spec.nodeName);
  if (node === undefined || node.isCutOff || node.isDown)
    throw failure(500, `error dialing backend: no route to the node of ${name}`);
  const life = node.lives.get(pod.metadata.uid ?? '');
  if (life?.isRunning !== true) throw failure(404, `container not found ("${name}")`);
  const outcome = await run(life, command.command);
  if (outcome === undefined) throw failure(500, 'the container ended while the command ran');
  return { exitCode: outcome.exitCode, stdout: outcome.message, stderr: outcome.message };
}

async function run(life: PodLife, command: readonly string[]): Promise<ScriptOutcome | undefined> {
  const [, , , script = '', diskCid = '', , uid] = command;
  const { mounter } = life;
  if (mounter === undefined) return runInVm(life, script, diskCid);
  if (uid !== life.uid) return { exitCode: 1, message: 'another attachment has that name by now' };
  switch (script) {
    case 'bind':
      return mounter.bind(Number(command[7]));
    case 'release':
      return mounter.release(Number(command[8]));
    case 'end-unless-bound':
      return mounter.endUnlessBound();
    default:
      throw new Error(`the simulated mount container has no script ${script}`);
  }
}

function runInVm(life: PodLife, script: string, diskCid: string): ScriptOutcome {
  const hub = life.node.hubs.get(life.uid);
  switch (script) {
    case 'is-mounted':
      return {
        exitCode: hub?.directories.has(diskCid) === true || hub?.mounts.has(diskCid) === true ? 0 : 1,
        message: '',
      };
    case 'in-use':
      return life.uses.has(diskCid)
        ? { exitCode: inUseExit.busy, message: 'process 7 uses it' }
        : { exitCode: inUseExit.free, message: '' };
    case 'stop':
      life.endContainer(0, 'PID 1 was asked to end');
      return { exitCode: 0, message: '' };
    case 'agent-socket':
      return { exitCode: 0, message: '' };
    default:
      throw new Error(`the simulated VM has no script ${script}`);
  }
}

function failure(code: number, message: string): ApiError {
  return new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'InternalError' },
    ...{ code, message },
  });
}
