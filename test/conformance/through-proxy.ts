import { startApiProxy, type ApiProxy, type ApiProxyOptions, type Fate } from '../support/api-proxy.ts';
import { tokenKubeconfig, tokenOf } from './roles.ts';
import type { World } from './world.ts';

export const pass: Fate = { kind: 'pass' };

export function refusal(code: number, reason: string, headers: Record<string, string> = {}): Fate {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason, code };
  return { kind: 'answer', status: code, headers, body: JSON.stringify({ ...status, message: reason }) };
}

/** Options of calls through a proxy. */
export interface Through {
  readonly settings: { readonly kubernetes: { readonly kubeconfig: object } };
}

/** Runs calls with the CPI's configuration through a proxy that treats requests as `decide` returns. */
export async function through(
  world: World,
  decide: ApiProxyOptions['decide'],
  use: (options: Through, proxy: ApiProxy) => Promise<void>,
  onAnswer: NonNullable<ApiProxyOptions['onAnswer']> = () => undefined,
): Promise<void> {
  const { access } = world.target;
  const proxy = await startApiProxy({ access, decide, onAnswer });
  try {
    const token = await tokenOf(access, world.namespace);
    const kubeconfig = tokenKubeconfig({ ...access, server: proxy.server, ca: proxy.ca }, token);
    await use({ settings: { kubernetes: { kubeconfig } } }, proxy);
  } finally {
    await proxy.close();
  }
}
