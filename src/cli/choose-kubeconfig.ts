import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { kubeconfigPath } from './connect.ts';

export interface ChosenKubeconfig {
  readonly path: string;
  readonly isEmbedded: boolean;
}

/**
 * The kubeconfig of a command that reads a cluster: the one that was named; else that of the embedded
 * cluster, where one was made; else the file of `$KUBECONFIG`. INVALID_ARGUMENT where that names several:
 * they are not merged.
 */
export function chooseKubeconfig(
  named: string | undefined,
  clusterDirectory: string,
  environment: Readonly<Record<string, string | undefined>>,
): ChosenKubeconfig {
  if (named !== undefined) return { path: named, isEmbedded: false };
  const embedded = { path: kubeconfigPath(clusterDirectory), isEmbedded: true };
  if (existsSync(embedded.path)) return embedded;
  const path = environmentKubeconfig(environment);
  return path === undefined ? embedded : { path, isEmbedded: false };
}

/** The file of `$KUBECONFIG`; undefined where that names none. INVALID_ARGUMENT where it names several. */
export function environmentKubeconfig(
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const files = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  // as kubectl, which passes over what is not there
  const present = files.filter((file) => existsSync(file));
  if (present.length > 1)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `KUBECONFIG names several files, which are not merged: name one by --kubeconfig, such as what kubectl config view --raw prints`,
    );
  return present[0] ?? files[0];
}
