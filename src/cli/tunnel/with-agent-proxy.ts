import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseAllProxy, proxyVariable, type Socks5Proxy } from '../../bosh/agent-client/socks5-connect.ts';
import { directorFilePath } from '../../director/director-directory.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { EnvArguments } from '../args/env-arguments.ts';
import type { CommandContext } from '../command.ts';
import { serveTunnel } from './serve-tunnel.ts';
import { withTunnel } from './with-tunnel.ts';

/**
 * Runs `action` with the proxy through which it reaches the agent: its own tunnel with `--tunnel`, the proxy
 * of BOSH_ALL_PROXY, or none. Rejects before that if either is invalid.
 */
export async function withAgentProxy<T>(
  { tunnel, statePath }: Pick<EnvArguments, 'tunnel' | 'statePath'>,
  context: CommandContext,
  action: (proxy: Socks5Proxy | undefined) => Promise<T>,
): Promise<T> {
  if (!tunnel) return action(parseAllProxy(context.environment[proxyVariable]));
  const flags = { directory: directorDirectory(statePath), namespaces: [], networks: [], maps: [] };
  return withTunnel(flags, context, async (way) => {
    const log = (line: string): void => context.terminal.error(`tunnel: ${line}`);
    const server = await serveTunnel(way, { port: 0, log });
    try {
      return await action({ host: '127.0.0.1', port: server.port });
    } finally {
      await server.close();
    }
  });
}

/** Returns the director's directory, which also contains its state file. */
function directorDirectory(statePath: string | undefined): string {
  const directories = [...(statePath === undefined ? [] : [dirname(resolve(statePath))]), process.cwd()];
  const found = directories.find((directory) => existsSync(directorFilePath(directory)));
  if (found !== undefined) return found;
  throw new ProductError(
    'FILE_NOT_FOUND',
    `--tunnel looks for director.json of 'director init' in ${directories.map((each) => `'${each}'`).join(' and ')}; without one, open the tunnel with: bosh-kubernetes tunnel --kubeconfig FILE -- COMMAND`,
  );
}
