import { randomUUID } from 'node:crypto';
import { delimiter, dirname } from 'node:path';
import type { EnvPorts } from '../deploy/options.ts';
import { systemClock } from '../platform/clock.ts';
import { shellWord } from '../platform/shell-word.ts';
import type { CommandContext } from './command.ts';

/**
 * Connects the deployer to this process. The CPI finds the pinned Node first: if its executable does not run
 * on this machine (arm64), it runs on Node 24.
 */
export function envPorts({ terminal, environment, installation, secrets }: CommandContext): EnvPorts {
  const path = [dirname(installation.nodeBinary), environment['PATH'] ?? ''].join(delimiter);
  return {
    write: (text) => terminal.out(text),
    live: terminal.display?.live,
    warn: (message) => terminal.error(`Warning: ${message}`),
    redact: secrets.redact,
    clock: systemClock,
    uuid: randomUUID,
    environment: { ...environment, PATH: path },
  };
}

/**
 * Returns a function that formats the command for a program in a VM as text for a shell. Without `kubeconfig`
 * the command uses the operator's own, and the operator must fill in NAMESPACE, because only the CPI knows
 * cluster and namespace.
 */
export function commandInVm(kubeconfig?: string): (vmCid: string, args: readonly string[]) => string {
  const where = kubeconfig === undefined ? ['-n', 'NAMESPACE'] : ['--kubeconfig', kubeconfig];
  return (vmCid, args) => ['kubectl', ...where, 'exec', vmCid, '--', ...args].map(shellWord).join(' ');
}
