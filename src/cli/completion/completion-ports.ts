import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readRegularFile } from '../../bosh/archive/open-for-reading.ts';
import { callLogPathFor } from '../../deploy/state/call-log.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import type { DeploymentState } from '../../deploy/state/deployment-state.ts';
import { isProductError } from '../../errors/product-error.ts';
import { parseKubeconfigYaml } from '../../kubernetes/access/kubeconfig-yaml.ts';
import { readCalls } from '../../trace/read-calls.ts';
import { expandHome } from '../args/parse-command-line.ts';
import { environmentKubeconfig } from '../cluster/kubeconfig.ts';
import type { Candidate, CompletionPorts } from './complete.ts';

/** A longer file is not the kubeconfig or the record of CPI calls that it seems to be. */
const maxBytes = 16 * 1024 * 1024;

/** Reads files of this machine; no request is sent to a cluster. */
export function completionPorts(environment: Readonly<Record<string, string | undefined>>): CompletionPorts {
  return {
    deployments: (word) => orNothing(findDeployments(word)),
    contexts: (kubeconfig) => orNothing(readContexts(kubeconfig, environment)),
    cids: (...request) => orNothing(readCids(...request)),
  };
}

/** A file or a directory that cannot be read, or that has another format, has no candidates. */
async function orNothing(work: Promise<readonly Candidate[]>): Promise<readonly Candidate[]> {
  try {
    return await work;
  } catch (error) {
    if (isProductError(error) || (error instanceof Error && 'syscall' in error)) return [];
    throw error;
  }
}

async function findDeployments(word: string): Promise<readonly Candidate[]> {
  const typed = word.slice(0, word.lastIndexOf('/') + 1);
  const directory = expandHome(typed === '' ? '.' : typed);
  const entries = await readdir(directory, { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry): Promise<readonly Candidate[]> => {
      const path = join(directory, entry.name);
      const candidate = async (files: DeploymentFiles): Promise<readonly Candidate[]> => {
        const state = await files.readState();
        return state === undefined ? [] : [{ word: typed + entry.name, description: describe(state) }];
      };
      if (/\.ya?ml$/u.test(entry.name)) return orNothing(DeploymentFiles.find(path).then(candidate));
      if (entry.isDirectory()) return orNothing(candidate(new DeploymentFiles(join(path, 'state.json'))));
      return [];
    }),
  );
  return found.flat();
}

function describe({ current_vm_cid: vm, disks }: DeploymentState): string {
  const parts = [...(vm === '' ? [] : [`VM ${vm}`]), ...disks.map(({ cid }) => `disk ${cid}`)];
  return parts.length === 0 ? 'no VM' : parts.join(', ');
}

async function readContexts(
  kubeconfig: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly Candidate[]> {
  const path = expandHome(kubeconfig ?? environmentKubeconfig(environment) ?? '~/.kube/config');
  const text = (await readRegularFile(path, maxBytes))?.toString('utf8');
  if (text === undefined) return [];
  const { contexts } = parseKubeconfigYaml(text);
  return contexts.map(({ name }) => ({ word: name, description: `context of ${path}` }));
}

/**
 * Reads the records of the deployment's CPI calls, which stay when the state file is lost. The newest is
 * first.
 */
async function readCids(
  kind: 'vm' | 'disk',
  manifest: string,
  state: string | undefined,
): Promise<readonly Candidate[]> {
  const requested = state === undefined ? undefined : expandHome(state);
  const { statePath } = await DeploymentFiles.find(expandHome(manifest), requested);
  const log = await readRegularFile(callLogPathFor(statePath), maxBytes);
  if (log === undefined) return [];
  const { calls } = await readCalls(ReadableStream.from([log.toString('utf8')]));
  const found = new Map<string, Candidate>();
  for (const { method, cids, result, start } of calls)
    for (const cid of cids.filter((each) => each.startsWith(`${kind}-`))) {
      found.delete(cid);
      if (method === `delete_${kind}` && result === 'ok') continue;
      found.set(cid, { word: cid, description: `${method} at ${new Date(start).toISOString()}` });
    }
  return [...found.values()].toReversed();
}
