import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isProductError } from '../../src/errors/product-error.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';

/** Returns whether the cluster's API reports that it is ready. The request is that of any client. */
export async function isReady(directory: string): Promise<boolean> {
  let kubeconfig: string;
  try {
    kubeconfig = await readFile(join(directory, 'kubeconfig'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return false;
    }
    throw error;
  }
  const transport = await openTransport(await loadAccess(kubeconfig), { timeoutMs: 2_000 });
  try {
    return (await transport.request({ method: 'GET', path: '/readyz' })).status === 200;
  } catch (error) {
    if (isProductError(error, 'KUBERNETES_UNREACHABLE')) {
      return false;
    }
    throw error;
  } finally {
    transport.close();
  }
}
