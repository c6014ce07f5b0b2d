import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readRegularFile } from '../../bosh/archive/open-for-reading.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import type { DeploymentState } from '../../deploy/state/deployment-state.ts';
import { isProductError } from '../../errors/product-error.ts';
import { parseKubeconfigYaml } from '../../kubernetes/access/kubeconfig-yaml.ts';
import { expandHome } from '../args/parse-command-line.ts';
import { environmentKubeconfig } from '../cluster/kubeconfig.ts';
import type { Candidate, CompletionPorts } from './complete.ts';

/** Reads state files and kubeconfigs of this machine; no request is sent to a cluster. */
export function completionPorts(environment: Readonly<Record<string, string | undefined>>): CompletionPorts {
  return {
    deployments: (word) => orNothing(findDeployments(word)),
    contexts: (kubeconfig) => orNothing(readContexts(kubeconfig, environment)),
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
      const isManifest = /\.ya?ml$/u.test(entry.name);
      const path = join(directory, entry.name);
      const state = isManifest
        ? await readState(await DeploymentFiles.find(path))
        : entry.isDirectory()
          ? await readState(new DeploymentFiles(join(path, 'state.json')))
          : undefined;
      return state === undefined ? [] : [{ word: typed + entry.name, description: describe(state) }];
    }),
  );
  return found.flat();
}

async function readState(files: DeploymentFiles): Promise<DeploymentState | undefined> {
  try {
    return await files.readState();
  } catch (error) {
    if (isProductError(error)) return undefined;
    throw error;
  }
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
  const text = (await readRegularFile(path, 16 * 1024 * 1024))?.toString('utf8');
  if (text === undefined) return [];
  const { contexts } = parseKubeconfigYaml(text);
  return contexts.map(({ name }) => ({ word: name, description: `context of ${path}` }));
}
