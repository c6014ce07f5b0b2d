import { expandHome, invalidArguments, parseFlags } from './parse-command-line.ts';
import { type KubernetesArguments, kubernetesFlags } from './kubernetes-arguments.ts';

export const orphansFlags = {
  ...kubernetesFlags,
  state: { type: 'string', multiple: true, value: 'FILE', help: 'A state file of create-env or up' },
  'director-json': {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'A list of the director: bosh ... --json',
  },
  delete: { type: 'boolean', help: 'Delete what the files show not to be in use' },
  force: { type: 'boolean', help: 'Delete without a question' },
} as const;

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
  const invalid = invalidArguments('orphans [FLAGS]');
  const {
    state = [],
    'director-json': lists = [],
    kubeconfig,
    ...values
  } = parseFlags(args, orphansFlags, invalid);
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
