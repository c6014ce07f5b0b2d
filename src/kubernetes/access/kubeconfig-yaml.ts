import { load } from 'js-yaml';
import { ProductError } from '../../errors/product-error.ts';
import { type Kubeconfig, kubeconfigOf } from './kubeconfig.ts';

/**
 * Parses a kubeconfig in YAML text. Loads a YAML parser, so import this file only if the text is not JSON.
 */
export function parseKubeconfigYaml(text: string): Kubeconfig {
  return kubeconfigOf(parseYaml(text));
}

function parseYaml(text: string): unknown {
  try {
    return load(text);
  } catch (error) {
    // the parser's message quotes the text, which may contain a key
    const line = lineOf(error);
    throw new ProductError(
      'INVALID_CONFIG',
      `kubeconfig: the text is not YAML${line === undefined ? '' : `, line ${line}`}; give it as kubectl config view --raw prints it`,
    );
  }
}

function lineOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('mark' in error)) {
    return undefined;
  }
  const mark = error.mark;
  if (typeof mark !== 'object' || mark === null || !('line' in mark) || typeof mark.line !== 'number') {
    return undefined;
  }
  return mark.line + 1;
}
