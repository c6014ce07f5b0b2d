import { existing, inputOptions, readEnvInputs, type EnvInputs } from './env-arguments.ts';
import {
  type KubernetesArguments,
  kubernetesFlags,
  kubernetesUsage,
  withHome,
} from './kubernetes-arguments.ts';
import { invalidArguments, parseCommandLine } from './parse-command-line.ts';

/** Usage after `state restore`. */
export const restoreUsage = `${existing} ${kubernetesUsage} [--vm CID] [--disk CID]`;

export interface RestoreArguments {
  readonly inputs: EnvInputs;
  readonly kubernetes: KubernetesArguments;
  /** The chosen VM, if there are several candidates. */
  readonly vmCid: string | undefined;
  /** The chosen disk, if there are several candidates. */
  readonly diskCid: string | undefined;
}

/** Parses the arguments of `state restore`. Throws INVALID_ARGUMENT with the usage. */
export function parseRestoreArguments(args: readonly string[]): RestoreArguments {
  const { tunnel: _, ...inputs } = inputOptions;
  const options = {
    ...inputs,
    ...kubernetesFlags,
    vm: { type: 'string' },
    disk: { type: 'string' },
  } as const;
  const invalid = invalidArguments(`state restore ${restoreUsage}`);
  const { values, positionals } = parseCommandLine(args, options, invalid);
  const [manifestPath, extra] = positionals;
  if (manifestPath === undefined) throw invalid('A manifest is missing');
  if (extra !== undefined) throw invalid('Name one manifest');
  const { vm, disk, ...flags } = values;
  const { kubeconfig, namespace, 'disk-namespace': diskNamespace } = flags;
  return {
    inputs: readEnvInputs(manifestPath, values),
    kubernetes: withHome({
      ...(kubeconfig !== undefined && { kubeconfig }),
      ...(namespace !== undefined && { namespace }),
      ...(diskNamespace !== undefined && { 'disk-namespace': diskNamespace }),
    }),
    vmCid: vm,
    diskCid: disk,
  };
}
