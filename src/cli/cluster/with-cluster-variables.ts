import { apiKubeletRoot } from '../../../embedded-cluster/index.ts';
import { defaultVarsStorePath, type EnvInputs } from '../args/env-arguments.ts';
import type { Installation } from '../installation.ts';
import { kubeconfigPath } from './kubeconfig.ts';

/**
 * Adds the variables that only the embedded cluster and this installation know. The operator's values take
 * precedence, including a kubeconfig of another cluster.
 */
export function withClusterVariables<T extends EnvInputs>(
  parsed: T,
  { clusterDirectory, root }: Installation,
): T & { readonly kubeconfig: string; readonly varsStorePath: string } {
  const variableFiles = { kubeconfig: kubeconfigPath(clusterDirectory), ...parsed.variableFiles };
  return {
    ...parsed,
    varsStorePath: parsed.varsStorePath ?? defaultVarsStorePath(parsed.manifestPath),
    variables: { kubelet_root_dir: apiKubeletRoot, installation: root, ...parsed.variables },
    variableFiles,
    kubeconfig: variableFiles.kubeconfig,
  };
}
