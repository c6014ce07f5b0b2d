import { stopEnv as stop } from '../../deploy/stop-env.ts';
import { commandInVm } from '../command-in-vm.ts';
import type { Command } from '../command.ts';
import { envUsage, parseEnvArguments } from '../env-arguments.ts';
import { envPorts } from '../env-ports.ts';
import { withAgentProxy } from '../with-agent-proxy.ts';

export const stopEnv: Command = {
  name: 'stop-env',
  usage: envUsage['stop-env'],
  summary: 'Stop the jobs of the VM of a manifest, as bosh stop-env does',
  json: true,
  async run(words, context) {
    const parsed = parseEnvArguments('stop-env', words);
    const { workspace } = context.installation;
    const { signal, secrets } = context;
    await withAgentProxy(parsed, context, (proxy) =>
      stop(
        { ...parsed, proxy, workspace, signal, commandInVm: commandInVm(), onSecrets: secrets.add },
        envPorts(context),
      ),
    );
    context.terminal.out('\nSucceeded\n');
    return 0;
  },
};
