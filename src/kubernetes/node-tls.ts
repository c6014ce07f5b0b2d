import type { AgentOptions } from 'node:https';
import type { Access } from './access.ts';
import type { Credentials } from './credentials.ts';

export type NodeTls = Pick<
  AgentOptions,
  'rejectUnauthorized' | 'ca' | 'cert' | 'key' | 'servername' | 'proxyEnv'
>;

/**
 * Returns Node's options for a connection to the server: TLS, always verified, and the proxy if there is one.
 */
export function nodeTls(access: Access, { certificate, key }: Credentials): NodeTls {
  return {
    rejectUnauthorized: true,
    ...(access.ca !== undefined && { ca: access.ca }),
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
    ...(access.tlsServerName !== undefined && { servername: access.tlsServerName }),
    ...(access.proxy !== undefined && { proxyEnv: { HTTPS_PROXY: access.proxy } }),
  };
}
