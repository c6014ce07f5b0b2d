import { parseArgs } from 'node:util';
import { ProductError } from '../errors/product-error.ts';
import { firstSentence } from './env-arguments.ts';
import { expandHome } from './expand-home.ts';

export const kubernetesUsage = '[--kubeconfig FILE] [--namespace NAME] [--disk-namespace NAME]';

export interface KubernetesArguments {
  /** Absent: the embedded cluster. */
  readonly kubeconfig?: string;
  /** Absent: the one that the kubeconfig's context names. */
  readonly namespace?: string;
  /** The CPI's kubernetes.disk_namespace; absent: the same one. */
  readonly 'disk-namespace'?: string;
}

const flags = {
  kubeconfig: { type: 'string' },
  namespace: { type: 'string' },
  'disk-namespace': { type: 'string' },
} as const;

/** The words after a command that reads a cluster. Throws INVALID_ARGUMENT, which shows the command's usage. */
export function parseKubernetesArguments(command: string, words: readonly string[]): KubernetesArguments {
  const { values } = parseOrShow(`${command} ${kubernetesUsage}`, () =>
    parseArgs({ args: [...words], options: flags, strict: true }),
  );
  return withHome(values);
}

export const statusUsage = `[MANIFEST] [--state FILE] ${kubernetesUsage}`;

export interface StatusArguments extends KubernetesArguments {
  /** Whose recorded VM has to be there. */
  readonly manifestPath?: string;
  /** The same by the deployment's state file. */
  readonly state?: string;
}

/** The same for `status`. */
export function parseStatusArguments(words: readonly string[]): StatusArguments {
  const options = { ...flags, state: { type: 'string' } } as const;
  const usage = `status ${statusUsage}`;
  const { values, positionals } = parseOrShow(usage, () =>
    parseArgs({ args: [...words], options, allowPositionals: true, strict: true }),
  );
  const [manifestPath, extra] = positionals;
  if (extra !== undefined)
    throw new ProductError('INVALID_ARGUMENT', `One manifest is taken. Usage: ${usage}`);
  return {
    ...withHome(values),
    ...(values.state === undefined ? {} : { state: expandHome(values.state) }),
    ...(manifestPath === undefined ? {} : { manifestPath: expandHome(manifestPath) }),
  };
}

function withHome(values: KubernetesArguments): KubernetesArguments {
  return values.kubeconfig === undefined ? values : { ...values, kubeconfig: expandHome(values.kubeconfig) };
}

function parseOrShow<T>(usage: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ProductError('INVALID_ARGUMENT', `${firstSentence(error.message)}. Usage: ${usage}`);
  }
}
