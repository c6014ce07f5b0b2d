import { inputOptions } from './env-arguments.ts';
import { clusterFlags } from './flags.ts';
import { expandHome, invalidArguments, parseCommandLine } from './parse-command-line.ts';

export interface KubernetesArguments {
  /** The default is the embedded cluster's if it exists, otherwise the file of `$KUBECONFIG`. */
  readonly kubeconfig?: string;
  /** The default is the namespace of the kubeconfig's context. */
  readonly namespace?: string;
  /** The CPI's kubernetes.disk_namespace. The default is `namespace`. */
  readonly 'disk-namespace'?: string;
}

export const kubernetesFlags = {
  kubeconfig: {
    ...clusterFlags.kubeconfig,
    help: "Default: the embedded cluster's, or $KUBECONFIG",
  },
  namespace: { type: 'string', value: 'NAME', help: 'Namespace of VMs (default: of the context)' },
  'disk-namespace': { type: 'string', value: 'NAME', help: 'Namespace of disks (default: that of VMs)' },
} as const;

export const statusUsage = '[MANIFEST]';

export const statusFlags = {
  ...kubernetesFlags,
  state: inputOptions.state,
  details: { type: 'boolean', help: 'Show more columns' },
  watch: { type: 'boolean', help: 'Follow the changes until Ctrl-C' },
} as const;

export interface StatusArguments extends KubernetesArguments {
  /** The manifest of the deployment whose recorded VM must exist. */
  readonly manifestPath?: string;
  /** The state file of the deployment whose recorded VM must exist. */
  readonly state?: string;
  /** Shows all columns. */
  readonly details: boolean;
  readonly watch: boolean;
}

/** Parses the arguments of `status`. Throws INVALID_ARGUMENT with the usage. */
export function parseStatusArguments(args: readonly string[]): StatusArguments {
  const invalid = invalidArguments(`status ${statusUsage}`);
  const { values, positionals } = parseCommandLine(args, statusFlags, invalid);
  const [manifestPath, extra] = positionals;
  if (extra !== undefined) throw invalid('Name one manifest');
  return {
    ...withHome(values),
    details: values.details === true,
    watch: values.watch === true,
    ...(values.state === undefined ? {} : { state: expandHome(values.state) }),
    ...(manifestPath === undefined ? {} : { manifestPath: expandHome(manifestPath) }),
  };
}

/** Expands `~` in the path of the kubeconfig. */
export function withHome<T extends KubernetesArguments>(values: T): T {
  return values.kubeconfig === undefined ? values : { ...values, kubeconfig: expandHome(values.kubeconfig) };
}
