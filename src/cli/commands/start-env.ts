import { startEnv as start } from '../../deploy/start-env.ts';
import { commandInVm } from '../command-in-vm.ts';
import type { Command } from '../command.ts';
import { envUsage, parseEnvArguments } from '../env-arguments.ts';
import { envPorts } from '../env-ports.ts';
import { withAgentProxy } from '../with-agent-proxy.ts';

export const startEnv: Command = {
  name: 'start-env',
  usage: envUsage['start-env'],
  summary: 'Start the jobs of the VM of a manifest, as bosh start-env does',
  json: true,
  async run(words, context) {
    const parsed = parseEnvArguments('start-env', words);
    const { workspace } = context.installation;
    const { signal, secrets } = context;
    await withAgentProxy(parsed, context, (proxy) =>
      start(
        { ...parsed, proxy, workspace, signal, commandInVm: commandInVm(), onSecrets: secrets.add },
        envPorts(context),
      ),
    );
    context.terminal.out('\nSucceeded\n');
    return 0;
  },
};
