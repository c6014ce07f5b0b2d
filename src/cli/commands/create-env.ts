import { createEnv as deploy } from '../../deploy/create-env.ts';
import { commandInVm } from '../command-in-vm.ts';
import type { Command } from '../command.ts';
import { envUsage, parseEnvArguments } from '../env-arguments.ts';
import { envPorts } from '../env-ports.ts';
import { withAgentProxy } from '../with-agent-proxy.ts';

export const createEnv: Command = {
  name: 'create-env',
  usage: envUsage['create-env'],
  summary: 'Create or update the VM of a manifest, as bosh create-env does',
  json: true,
  async run(words, context) {
    const parsed = parseEnvArguments('create-env', words);
    await withAgentProxy(parsed, context, (proxy) =>
      deploy(
        {
          ...parsed,
          proxy,
          workspace: context.installation.workspace,
          signal: context.signal,
          commandInVm: commandInVm(),
          onSecrets: context.secrets.add,
        },
        envPorts(context),
      ),
    );
    context.terminal.out('\nSucceeded\n');
    return 0;
  },
};
