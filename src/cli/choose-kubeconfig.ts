import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { kubeconfigPath } from './connect.ts';

export interface ChosenKubeconfig {
  readonly path: string;
  readonly isEmbedded: boolean;
}

/**
 * Returns the kubeconfig of a command that reads a cluster: the named file, otherwise that of the embedded
 * cluster if it exists, otherwise the file of `$KUBECONFIG`. Throws INVALID_ARGUMENT if `$KUBECONFIG` names
 * several files, because they are not merged.
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

/**
 * Returns the file of `$KUBECONFIG`, or undefined if it names none. Throws INVALID_ARGUMENT if it names
 * several.
 */
export function environmentKubeconfig(
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const files = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  // Like kubectl, ignore files that do not exist.
  const present = files.filter((file) => existsSync(file));
  if (present.length > 1)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `KUBECONFIG names several files, which are not merged: name one by --kubeconfig, such as what kubectl config view --raw prints`,
    );
  return present[0] ?? files[0];
}
