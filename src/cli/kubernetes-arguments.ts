import { parseArgs } from 'node:util';
import { ProductError } from '../errors/product-error.ts';
import { firstSentence } from './env-arguments.ts';

export const kubernetesUsage = '[--kubeconfig FILE] [--namespace NAME] [--disk-namespace NAME]';

export interface KubernetesArguments {
  /** Absent: the embedded cluster. */
  readonly kubeconfig?: string;
  /** Absent: the one that the kubeconfig's context names. */
  readonly namespace?: string;
  /** The CPI's kubernetes.disk_namespace; absent: the same one. */
  readonly 'disk-namespace'?: string;
}

/** The words after a command that reads a cluster. Throws INVALID_ARGUMENT, which shows the command's usage. */
export function parseKubernetesArguments(command: string, words: readonly string[]): KubernetesArguments {
  try {
    return parseArgs({
      args: [...words],
      options: {
        kubeconfig: { type: 'string' },
        namespace: { type: 'string' },
        'disk-namespace': { type: 'string' },
      },
      strict: true,
    }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = `${firstSentence(error.message)}. Usage: ${command} ${kubernetesUsage}`;
    throw new ProductError('INVALID_ARGUMENT', message);
  }
}
