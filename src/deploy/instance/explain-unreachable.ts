import type { ProductError } from '../../errors/product-error.ts';

/**
 * What an operator should check, by the code of the failed request. The codes are Node's (errno, DNS, TLS).
 */
const steps: readonly (readonly [RegExp, string])[] = [
  [
    /^ECONNREFUSED$/,
    "nothing listens there yet: if that lasts, read the agent's log (kubectl logs) and compare the port with the VM's Service",
  ],
  [
    /^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EHOSTDOWN)$/,
    'this machine has no way to that address, or a firewall drops it: cloud_provider.mbus has to name an address of the VM, of its ' +
      'Service or of a node that this machine reaches (docs/your-cluster.md, the way to the agent)',
  ],
  [
    /^(ENOTFOUND|EAI_AGAIN)$/,
    'this machine does not know that name: correct the host in cloud_provider.mbus',
  ],
  [/^(EPROTO|ERR_SSL_|HPE_)/, 'what listens there is not the agent: correct the port in cloud_provider.mbus'],
  [
    /^(ECONNRESET|EPIPE)$/,
    'what is between, a proxy or a load balancer, closes the connection: that passes when the agent listens',
  ],
];

/**
 * Returns the message of an AGENT_UNREACHABLE error and what to do about it. An error without a code means
 * that no response arrived in time.
 */
export function explainUnreachable({ message, cause }: ProductError): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'ETIMEDOUT';
  const [, step] = steps.find(([codes]) => codes.test(code)) ?? [];
  return step === undefined ? message : `${message}; ${step}`;
}
