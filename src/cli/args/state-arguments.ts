import { inputOptions, readEnvInputs, type EnvInputs } from './env-arguments.ts';
import { type KubernetesArguments, kubernetesFlags, withHome } from './kubernetes-arguments.ts';
import { invalidArguments, parseCommandLine } from './parse-command-line.ts';

/** The operands of `state restore`. */
export const restoreUsage = 'MANIFEST';

const { tunnel: _, ...inputs } = inputOptions;

export const restoreFlags = {
  ...inputs,
  ...kubernetesFlags,
  vm: { type: 'string', value: 'CID', help: 'The VM, if there are several' },
  disk: { type: 'string', value: 'CID', help: 'The disk, if there are several' },
} as const;

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
  const invalid = invalidArguments(`state restore ${restoreUsage}`);
  const { values, positionals } = parseCommandLine(args, restoreFlags, invalid);
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
