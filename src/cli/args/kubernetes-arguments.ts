import { expandHome, invalidArguments, parseCommandLine } from './parse-command-line.ts';

export const kubernetesUsage = '[--kubeconfig FILE] [--namespace NAME] [--disk-namespace NAME]';

export interface KubernetesArguments {
  /** The default is the embedded cluster. */
  readonly kubeconfig?: string;
  /** The default is the namespace of the kubeconfig's context. */
  readonly namespace?: string;
  /** The CPI's kubernetes.disk_namespace. The default is `namespace`. */
  readonly 'disk-namespace'?: string;
}

export const kubernetesFlags = {
  kubeconfig: { type: 'string' },
  namespace: { type: 'string' },
  'disk-namespace': { type: 'string' },
} as const;

export const statusUsage = `[MANIFEST] [--state FILE] [--details] [--watch | --json] ${kubernetesUsage}`;

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
  const options = {
    ...kubernetesFlags,
    state: { type: 'string' },
    details: { type: 'boolean' },
    watch: { type: 'boolean' },
  } as const;
  const invalid = invalidArguments(`status ${statusUsage}`);
  const { values, positionals } = parseCommandLine(args, options, invalid);
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
