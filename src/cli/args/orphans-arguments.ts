import { expandHome, invalidArguments, parseFlags } from './parse-command-line.ts';
import { type KubernetesArguments, kubernetesFlags, kubernetesUsage } from './kubernetes-arguments.ts';

export const orphansUsage = `[--state FILE]... [--director-json FILE]... [--delete [--force]] ${kubernetesUsage}`;

export interface OrphansArguments extends KubernetesArguments {
  /** The state files of create-env and up. */
  readonly statePaths: readonly string[];
  /** Outputs of the bosh CLI with `--json`, all of one director. */
  readonly listPaths: readonly string[];
  readonly delete: boolean;
  /** Deletes without a question. */
  readonly force: boolean;
}

/** Parses the arguments of `orphans`. Throws INVALID_ARGUMENT with the usage. */
export function parseOrphansArguments(args: readonly string[]): OrphansArguments {
  const options = {
    ...kubernetesFlags,
    state: { type: 'string', multiple: true },
    'director-json': { type: 'string', multiple: true },
    delete: { type: 'boolean' },
    force: { type: 'boolean' },
  } as const;
  const invalid = invalidArguments(`orphans ${orphansUsage}`);
  const {
    state = [],
    'director-json': lists = [],
    kubeconfig,
    ...values
  } = parseFlags(args, options, invalid);
  const isDeletion = values.delete === true;
  if (isDeletion && state.length + lists.length === 0)
    throw invalid('--delete needs --state or --director-json, which show what is in use');
  if (values.force === true && !isDeletion) throw invalid('--force is only for --delete');
  return {
    ...values,
    ...(kubeconfig === undefined ? {} : { kubeconfig: expandHome(kubeconfig) }),
    statePaths: state.map(expandHome),
    listPaths: lists.map(expandHome),
    delete: isDeletion,
    force: values.force === true,
  };
}
